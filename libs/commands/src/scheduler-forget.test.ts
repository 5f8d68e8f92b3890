import { type CommandHeader, CommandMessage } from "@kapi/contracts";
import { commandMessage, TestClock } from "@kapi/testkit";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { type Entry, orderKeyOf } from "./entry.ts";
import { type BatchMode, Scheduler, type ServerAnswer } from "./scheduler.ts";

const SERVER = "0190f6d2-0000-4000-8000-000000000001";
const TIMES = { retryMs: 60_000, sweepMs: 2_000 };

interface Batch {
  readonly mode: BatchMode;
  readonly entries: readonly Entry[];
  readonly end: (answer: ServerAnswer) => void;
}

let offset = 0;
function entry(accountNumber: string, overrides: Partial<CommandHeader> = {}): Entry {
  const message = CommandMessage.parse(commandMessage({ serverId: SERVER, accountNumber, ...overrides }));
  const partition = { partition: 0, lease: null, remove: () => undefined };
  const state = { attempts: 0, maybeSent: false, rejection: null, unexpectedErrors: 0, dropped: false };
  const deadlineMs = Date.parse(message.deadlineAt);
  return { message, orderKey: orderKeyOf(message), offset: (offset += 1), partition, deadlineMs, ...state };
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("the scheduler runs the commands of a server whose queues were deleted and created again while an `expire` batch ran", async () => {
  const clock = new TestClock(Date.now());
  const batches: Batch[] = [];
  const scheduler = new Scheduler({
    clock,
    random: () => 0,
    run: (_serverId, mode, entries) => new Promise((end) => batches.push({ mode, entries, end })),
    onBreaker: () => undefined,
  });
  const answer = async (index: number, given: ServerAnswer): Promise<void> => {
    batches[index]?.end(given);
    await vi.advanceTimersByTimeAsync(0);
  };
  const unanswered = ["1001", "1002", "1003"].map((accountNumber) => entry(accountNumber));
  for (const [index, one] of unanswered.entries()) {
    scheduler.add(one);
    await vi.advanceTimersByTimeAsync(0);
    scheduler.retry(one, TIMES.retryMs);
    await answer(index, "unreachable");
  }
  const parked = entry("1004", { deadlineAt: new Date(clock.nowMs() + 1).toISOString() });
  scheduler.add(parked);
  await vi.advanceTimersByTimeAsync(0);
  clock.advance(1);
  await vi.advanceTimersByTimeAsync(TIMES.sweepMs);
  const expiry = batches.findIndex(({ mode }) => mode === "expire");
  expect(batches[expiry]?.entries).toEqual([parked]);
  for (const one of [...unanswered, parked]) scheduler.drop(one);
  // The probe is answered, so the breaker closes. After the probe is dropped, no command is left,
  // and the queues of the server are deleted.
  const probe = entry("1005");
  scheduler.add(probe);
  clock.advance(TIMES.retryMs);
  await vi.advanceTimersByTimeAsync(TIMES.sweepMs);
  await answer(
    batches.findIndex(({ entries }) => entries.includes(probe)),
    "answered",
  );
  scheduler.drop(probe);

  // These commands get new queues, which the end of the `expire` batch must not delete.
  const [first, second] = [entry("1006"), entry("1006")];
  scheduler.add(first);
  await vi.advanceTimersByTimeAsync(0);
  scheduler.add(second);
  await answer(expiry, "unused");
  scheduler.drop(first);
  await vi.advanceTimersByTimeAsync(0);
  expect(batches.some(({ entries }) => entries.includes(second))).toBe(true);
});
