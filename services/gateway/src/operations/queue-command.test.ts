import { ApiError } from "@kapi/http";
import { commandMessage } from "@kapi/testkit";
import { afterEach, expect, it, vi } from "vitest";

import { NotPublished } from "../domain/ports.ts";
import type { Call } from "./call.ts";
import { admitOrWait, firstRejection, publish, reclaimedMessage } from "./queue-command.ts";

const BAD = new ApiError("LEVERAGE_NOT_SUPPORTED");
const MISSING = new ApiError("ACCOUNT_NOT_FOUND");
const CONFLICT = new ApiError("SERVER_DISABLED");
const HOUR_MS = 3_600_000;

afterEach(() => vi.useRealTimers());

it("firstRejection returns 400 before 404 before 409, and of equal statuses the first (decisions, 1.1)", () => {
  expect(firstRejection([CONFLICT, null, MISSING, BAD])).toBe(BAD);
  expect(firstRejection([CONFLICT, MISSING, null])).toBe(MISSING);
  expect(firstRejection([CONFLICT, new ApiError("ACCOUNT_QUOTA_REACHED")])).toBe(CONFLICT);
  expect(firstRejection([null])).toBeNull();
});

it("a request waits 8 s for an open record, also if the clock is set back meanwhile", async () => {
  vi.useFakeTimers();
  const open = [{ kind: "open", ageMs: 0 }];
  const reserve = vi.fn(() => {
    vi.setSystemTime(Date.now() - HOUR_MS);
    return Promise.resolve({ records: open });
  });
  let outcomes: unknown = null;
  const waiting = admitOrWait({ charge: { reserve } } as unknown as Pick<Call, "charge">, [], []);
  void waiting.then((records) => (outcomes = records));
  await vi.advanceTimersByTimeAsync(7_000);
  expect(outcomes).toBeNull();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(outcomes).toEqual(open);
});

it("the message of a reclaimed record has current times, and is otherwise unchanged", () => {
  const message = commandMessage({ operation: "account.history_export", createdAt: "2026-01-01T00:00:00.000Z" });
  const nowMs = Date.parse("2026-01-01T05:00:00.000Z");
  expect(reclaimedMessage(message, nowMs)).toEqual({
    ...message,
    createdAt: "2026-01-01T05:00:00.000Z",
    deadlineAt: "2026-01-01T06:00:00.000Z",
  });
});

it.each([
  ["is certainly not in the log", new NotPublished("no broker"), false],
  ["may be in the log", new ApiError("DEPENDENCY_UNAVAILABLE", { headers: { "retry-after": "1" } }), true],
])(
  "if a message %s, the error is 500 with Retry-After, and the charge notes whether the message may be in the log",
  async (_what, error, mayBePublished) => {
    const marked: boolean[] = [];
    const charge = { mayBePublished: () => marked.push(true), notPublished: () => marked.push(false) };
    const message = commandMessage();
    const published = publish({ commandLog: { publish: () => Promise.reject(error) } }, { charge }, message, "{}");
    await expect(published).rejects.toMatchObject({ code: "DEPENDENCY_UNAVAILABLE", headers: { "retry-after": "1" } });
    expect(marked.at(-1)).toBe(mayBePublished);
  },
);
