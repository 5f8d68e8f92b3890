import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { type CommandHeader, CommandMessage } from "@kapi/contracts";
import { backOffMs } from "@kapi/kernel";
import { commandMessage, TestClock } from "@kapi/testkit";

import { type Entry, type CommandPartition, orderKeyOf } from "./entry.ts";
import {
  FEW_COMMANDS,
  MAX_BATCH_COMMANDS,
  MAX_BATCHES_PER_SERVER,
  SLOW_BATCH_MS,
  MIN_SECOND_BATCH_COMMANDS,
} from "./limits.ts";
import { type BatchMode, Scheduler, type ServerAnswer } from "./scheduler.ts";

const SERVER = "0190f6d2-0000-4000-8000-000000000001";
const OTHER_SERVER = "0190f6d2-0000-4000-8000-000000000002";

interface Batch {
  readonly serverId: string;
  readonly mode: BatchMode;
  readonly entries: readonly Entry[];
  readonly end: (answer: ServerAnswer) => Promise<void>;
}

function setUp(options: { readonly maxAccountCommands?: number; readonly maxBatchCommands?: number } = {}) {
  const clock = new TestClock(Date.now());
  const batches: Batch[] = [];
  const breakers: { serverId: string; open: boolean }[] = [];
  const scheduler = new Scheduler({
    ...options,
    clock,
    random: () => 0,
    run: (serverId, mode, entries) =>
      new Promise((resolve) => {
        const end = async (answer: ServerAnswer): Promise<void> => {
          resolve(answer);
          await flush();
        };
        batches.push({ serverId, mode, entries, end });
      }),
    onBreaker: (serverId, open) => breakers.push({ serverId, open }),
  });
  return { clock, batches, breakers, scheduler };
}

/** Runs all pending microtasks and due timers. */
function flush(): Promise<void> {
  return vi.advanceTimersByTimeAsync(0).then(() => undefined);
}

/** A scheduler that got no answer to the first three batches of {@link SERVER}. */
async function withOpenBreaker() {
  const context = setUp();
  for (const [index, number] of ["1001", "1002", "1003"].entries()) {
    const one = entry(number);
    context.scheduler.add(one);
    await flush();
    context.scheduler.retry(one, 60_000);
    await at(context.batches, index).end("unreachable");
  }
  return context;
}

const partition: CommandPartition = { partition: 0, lease: null, remove: () => undefined };

let nextOffset = 0;
function entry(accountNumber: string, overrides: Partial<CommandHeader & { maybeSent: boolean }> = {}): Entry {
  const { maybeSent = false, ...message } = overrides;
  const full = CommandMessage.parse(commandMessage({ serverId: SERVER, accountNumber, ...message }));
  const deadlineMs = Date.parse(full.deadlineAt);
  nextOffset += 1;
  const state = { attempts: 0, maybeSent, rejection: null, unexpectedErrors: 0, dropped: false };
  return { message: full, orderKey: orderKeyOf(full), offset: nextOffset, partition, deadlineMs, ...state };
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`nothing at ${index}`);
  return item;
}

describe("the scheduler", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("runs several commands of an account in one batch, in log order and up to a limit; all but the first of them come after the first commands of other accounts", async () => {
    const { batches, scheduler } = setUp({ maxAccountCommands: 3 });
    const hot = Array.from({ length: 5 }, () => entry("1001"));
    const other = entry("1002");
    for (const one of [...hot, other]) scheduler.add(one);
    await flush();
    expect(at(batches, 0).entries).toEqual([hot[0], other, hot[1], hot[2]]);
    for (const one of at(batches, 0).entries.slice(0, 3)) scheduler.drop(one);
    await at(batches, 0).end("answered");
    // The third command of the account has no outcome yet.
    expect(batches).toHaveLength(1);
    scheduler.drop(at(hot, 2));
    await flush();
    expect(at(batches, 1).entries).toEqual(hot.slice(3));
  });

  it("starts one change of a server's risk templates at a time, in a batch with commands of accounts", async () => {
    const { batches, scheduler } = setUp();
    const payload = { name: "a", accountRules: "keep" };
    const change = (): Entry =>
      entry("", { operation: "risk.delete_template", payload, accountNumber: null, managedAccountId: null } as object);
    const [first, second, other] = [change(), change(), entry("1001")];
    for (const one of [first, second, other]) scheduler.add(one);
    await flush();
    expect(at(batches, 0).entries).toEqual([first, other]);
  });

  it("starts later commands of an account together with the retry of an earlier command, not before", async () => {
    const { batches, scheduler } = setUp({ maxAccountCommands: 3 });
    const [first, second, third] = [entry("1001"), entry("1001"), entry("1001")];
    for (const one of [first, second]) scheduler.add(one);
    await flush();
    scheduler.add(third);
    scheduler.retry(first, 1_000);
    scheduler.drop(second);
    await at(batches, 0).end("answered");
    await vi.advanceTimersByTimeAsync(999);
    expect(batches).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(at(batches, 1).entries).toEqual([first, third]);
  });

  it("retries the commands of an account in log order, even if the pause of a later command ends earlier", async () => {
    const { batches, scheduler } = setUp({ maxAccountCommands: 3 });
    const [first, second] = [entry("1001"), entry("1001")];
    for (const one of [first, second]) scheduler.add(one);
    await flush();
    scheduler.retry(first, 1_000);
    scheduler.retry(second, 0);
    await at(batches, 0).end("unreachable");
    expect(batches).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(at(batches, 1).entries).toEqual([first, second]);
  });

  it("sends a command that had an unexpected error without other commands of its account, and never mixes commands before and past their deadlines", async () => {
    const { batches, clock, scheduler } = setUp({ maxAccountCommands: 3 });
    const failed = entry("1001");
    failed.unexpectedErrors = 1;
    scheduler.add(failed);
    scheduler.add(entry("1001"));
    await flush();
    expect(at(batches, 0).entries).toEqual([failed]);
    const open = entry("1002");
    scheduler.add(open);
    scheduler.add(entry("1002", { deadlineAt: new Date(clock.nowMs() - 1).toISOString() }));
    await flush();
    expect(at(batches, 1)).toMatchObject({ mode: "execute", entries: [open] });
  });

  it("fills a batch with the first commands of all accounts before it adds later commands", async () => {
    const { batches, scheduler } = setUp({ maxAccountCommands: 100, maxBatchCommands: 3 });
    const hot = [entry("1001"), entry("1001"), entry("1001")];
    const [second, third] = [entry("1002"), entry("1003")];
    for (const one of [...hot, second, third]) scheduler.add(one);
    await flush();
    expect(at(batches, 0).entries).toEqual([hot[0], second, third]);
  });

  it("by default, runs the commands of an account one at a time, in log order", async () => {
    const { batches, scheduler } = setUp();
    const first = entry("1001");
    const second = entry("1001");
    scheduler.add(first);
    scheduler.add(second);
    await flush();
    expect(batches.map(({ entries }) => entries)).toEqual([[first]]);
    scheduler.drop(first);
    await at(batches, 0).end("answered");
    expect(batches.map(({ entries }) => entries)).toEqual([[first], [second]]);
  });

  it("runs the waiting commands of an account by offset, even if a command with a higher offset was added first", async () => {
    const { batches, scheduler } = setUp();
    const [running, lower, higher] = [entry("1001"), entry("1001"), entry("1001")];
    scheduler.add(running);
    await flush();
    scheduler.add(higher);
    scheduler.add(lower);
    for (const [index, expected] of [running, lower, higher].entries()) {
      expect(at(batches, index).entries).toEqual([expected]);
      scheduler.drop(expected);
      await at(batches, index).end("answered");
    }
  });

  it("gathers commands of many accounts into one batch, and runs several batches of a server at once", async () => {
    const { batches, scheduler } = setUp();
    const count = MAX_BATCH_COMMANDS * (MAX_BATCHES_PER_SERVER + 1);
    for (let index = 0; index < count; index += 1) scheduler.add(entry(`2${String(index).padStart(4, "0")}`));
    await flush();
    expect(batches).toHaveLength(MAX_BATCHES_PER_SERVER);
    expect(batches.map(({ entries }) => entries.length)).toEqual(Array(MAX_BATCHES_PER_SERVER).fill(200));
    const first = at(batches, 0);
    for (const done of first.entries) scheduler.drop(done);
    await first.end("answered");
    expect(batches).toHaveLength(MAX_BATCHES_PER_SERVER + 1);
  });

  describe("starts a second batch", () => {
    async function withUnderWay(count: number) {
      const set = setUp();
      const add = async (prefix: string, added: number): Promise<void> => {
        for (let index = 0; index < added; index += 1) set.scheduler.add(entry(`${prefix}${index}`));
        await flush();
      };
      await add("1-", count);
      return { ...set, add, sizes: () => set.batches.map(({ entries }) => entries.length) };
    }

    it("at once while few commands are running", async () => {
      const { add, sizes } = await withUnderWay(FEW_COMMANDS);
      await add("2-", 1);
      expect(sizes()).toEqual([FEW_COMMANDS, 1]);
    });

    it("when the first one ends, with all commands that arrived meanwhile, if many commands are running", async () => {
      const { add, sizes, batches } = await withUnderWay(FEW_COMMANDS + 1);
      await add("2-", 1);
      await add("3-", 2);
      expect(sizes()).toEqual([FEW_COMMANDS + 1]);
      await at(batches, 0).end("answered");
      expect(sizes()).toEqual([FEW_COMMANDS + 1, 3]);
    });

    it("before the first one ends, if many commands wait", async () => {
      const { add, sizes } = await withUnderWay(FEW_COMMANDS + 1);
      await add("2-", MIN_SECOND_BATCH_COMMANDS - 1);
      expect(sizes()).toHaveLength(1);
      await add("3-", 1);
      expect(sizes()).toEqual([FEW_COMMANDS + 1, MIN_SECOND_BATCH_COMMANDS]);
    });

    it("before the first one ends, if the first one is slow", async () => {
      const { add, sizes, clock } = await withUnderWay(FEW_COMMANDS + 1);
      await add("2-", 1);
      clock.advance(SLOW_BATCH_MS - 1);
      await vi.advanceTimersByTimeAsync(SLOW_BATCH_MS - 1);
      expect(sizes()).toHaveLength(1);
      clock.advance(1);
      await vi.advanceTimersByTimeAsync(1);
      expect(sizes()).toEqual([FEW_COMMANDS + 1, 1]);
    });

    it("and further batches at once, while the first one is slow", async () => {
      const { add, sizes, batches, clock } = await withUnderWay(FEW_COMMANDS + 1);
      clock.advance(SLOW_BATCH_MS);
      await add("2-", 1);
      await at(batches, 1).end("answered");
      await add("3-", 2);
      expect(sizes()).toEqual([FEW_COMMANDS + 1, 1, 2]);
    });
  });

  it("retries a command after its pause, not before, and holds back its account", async () => {
    const { batches, scheduler } = setUp();
    const [first, second] = [entry("1001"), entry("1001")];
    scheduler.add(first);
    scheduler.add(second);
    await flush();
    scheduler.retry(first, 1_000);
    await at(batches, 0).end("answered");
    await vi.advanceTimersByTimeAsync(999);
    expect(batches).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(at(batches, 1).entries).toEqual([first]);
  });

  it("parks only the commands of an unreachable server, probes with one command, and resumes when the server answers", async () => {
    const { batches, breakers, clock, scheduler } = await withOpenBreaker();
    const next = entry("1004");
    expect(breakers).toEqual([{ serverId: SERVER, open: true }]);
    expect(scheduler.servers()).toEqual([{ serverId: SERVER, parked: true }]);
    scheduler.add(next);
    const elsewhere = entry("1001", { serverId: OTHER_SERVER });
    scheduler.add(elsewhere);
    await flush();
    expect(at(batches, 3).entries).toEqual([elsewhere]);
    expect(batches).toHaveLength(4);

    clock.advance(1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(at(batches, 4).entries).toEqual([next]);
    scheduler.retry(next, 60_000);
    await at(batches, 4).end("unreachable");
    clock.advance(59_000);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(batches).toHaveLength(6);
    expect(at(batches, 5).entries).toHaveLength(1);
    scheduler.drop(at(at(batches, 5).entries, 0));
    await at(batches, 5).end("answered");
    expect(breakers).toEqual([
      { serverId: SERVER, open: true },
      { serverId: SERVER, open: false },
    ]);
    expect(scheduler.servers()).toEqual([
      { serverId: SERVER, parked: false },
      { serverId: OTHER_SERVER, parked: false },
    ]);
  });

  it("sends one probe at a time, also while an expired command ends without a call to the server", async () => {
    const { batches, clock, scheduler } = await withOpenBreaker();
    clock.advance(30_000);
    const expired = entry("1004", { deadlineAt: new Date(clock.nowMs() - 1).toISOString() });
    for (const one of [expired, entry("1005"), entry("1006")]) scheduler.add(one);
    await flush();
    expect(batches.slice(3).map(({ mode }) => mode)).toEqual(["expire", "execute"]);
    scheduler.drop(expired);
    await at(batches, 3).end("unused");
    expect(batches).toHaveLength(5);
  });

  it("sends a probe even if the breaker's wait ends while the scheduler checks it", async () => {
    for (let leftMs = 0; leftMs <= 5; leftMs += 1) {
      const { batches, clock, scheduler } = await withOpenBreaker();
      clock.advance(backOffMs(1, () => 0) - leftMs);
      // One millisecond passes between two reads of the clock.
      const nowMs = vi.spyOn(clock, "nowMs").mockImplementation(() => {
        clock.advance(1);
        return TestClock.prototype.nowMs.call(clock);
      });
      scheduler.add(entry("1004"));
      await flush();
      nowMs.mockRestore();
      clock.advance(1_000);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(batches, `no probe after a check ${leftMs} ms before the end of the wait`).toHaveLength(4);
    }
  });

  it("settles a command past its deadline if it may have been sent, and expires it otherwise", async () => {
    const { batches, clock, scheduler } = setUp();
    const sent = entry("1001", { maybeSent: true });
    const never = entry("1002");
    clock.set(sent.deadlineMs + 1_000);
    scheduler.add(sent);
    scheduler.add(never);
    await flush();
    const modes = new Map(batches.map(({ mode, entries }) => [mode, entries]));
    expect(modes.get("settle")).toEqual([sent]);
    expect(modes.get("expire")).toEqual([never]);
  });

  it("expires an unsent command at its deadline, even if it is parked", async () => {
    const { batches, clock, scheduler } = setUp();
    for (const [index, one] of ["1001", "1002", "1003"].map((number) => entry(number)).entries()) {
      scheduler.add(one);
      await flush();
      scheduler.retry(one, 3_600_000);
      await at(batches, index).end("unreachable");
    }
    const parked = entry("1009");
    scheduler.add(parked);
    await flush();
    expect(batches).toHaveLength(3);
    clock.set(parked.deadlineMs);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(batches.slice(3).map(({ mode, entries }) => [mode, entries])).toContainEqual(["expire", [parked]]);
  });

  it("runs the next command of an account at once when the previous command, which waits for a retry, becomes final", async () => {
    const { batches, scheduler } = setUp();
    const [first, second] = [entry("1001"), entry("1001")];
    scheduler.add(first);
    scheduler.add(second);
    await flush();
    scheduler.retry(first, 5_000);
    await at(batches, 0).end("answered");
    scheduler.drop(first);
    await flush();
    expect(first.dropped).toBe(true);
    expect(at(batches, 1).entries).toEqual([second]);
  });

  it("sends a command that had an unexpected error without commands of other accounts", async () => {
    const { batches, scheduler } = setUp();
    const failed = entry("1001");
    failed.unexpectedErrors = 1;
    scheduler.add(failed);
    scheduler.add(entry("1002"));
    scheduler.add(entry("1003"));
    await flush();
    expect(batches.map(({ entries }) => entries.length).toSorted((a, b) => a - b)).toEqual([1, 2]);
    expect(batches.find(({ entries }) => entries.length === 1)?.entries).toEqual([failed]);
  });
});
