import { describe, expect, it } from "vitest";

import { CommandMessage } from "@kapi/contracts";
import { FIRST_RETRY_MS, MAX_RETRY_MS } from "@kapi/kernel";
import { createLogger } from "@kapi/runtime";
import { commandMessage, TestClock } from "@kapi/testkit";

import { type Entry, type Home, orderKeyOf } from "./entry.ts";
import { MAX_BROKEN_ATTEMPTS } from "./limits.ts";
import { Judge } from "./verdict.ts";

class NoAnswer extends Error {}

const clock = new TestClock(Date.now());
const judge = new Judge<null>({
  clock,
  random: () => 0,
  executor: { isUnreachable: (error) => error instanceof NoAnswer },
  logger: createLogger({ service: "test", level: "silent" }),
});
const SERVER_DISABLED = { kind: "refuse", errorCode: "SERVER_DISABLED", errorMessage: "disabled" } as const;

function entry(overrides: Partial<Entry> = {}): Entry {
  const message = CommandMessage.parse(commandMessage());
  const partition: Home = { partition: 0, lease: null, remove: () => undefined };
  return {
    message,
    orderKey: orderKeyOf(message),
    offset: 1,
    partition,
    deadlineMs: clock.nowMs() + 1_000,
    attempts: 1,
    maybeSent: false,
    refusal: null,
    broken: 0,
    gone: false,
    ...overrides,
  };
}

const PAST = { deadlineMs: clock.nowMs() - 1 };

describe("what becomes of a command", () => {
  it("that we refuse: failed at once if it was never sent, settled first if it may have been", () => {
    const fresh = entry();
    expect(judge.outcome(fresh, SERVER_DISABLED, "execute")).toMatchObject({
      kind: "final",
      outcome: { kind: "closed", status: "failed", errorCode: "SERVER_DISABLED" },
    });
    const sent = entry({ maybeSent: true });
    expect(judge.outcome(sent, SERVER_DISABLED, "execute")).toMatchObject({ kind: "again", delayMs: 0 });
    expect(sent.refusal).toMatchObject({ errorCode: "SERVER_DISABLED" });
    expect(judge.outcome(sent, { kind: "closed" }, "settle")).toMatchObject({
      outcome: { status: "failed", errorCode: "SERVER_DISABLED" },
    });
  });

  it("that we wanted to refuse but that had applied: succeeded", () => {
    const sent = entry({ maybeSent: true, refusal: SERVER_DISABLED });
    const applied = { kind: "succeeded", result: { a: 1 }, effect: null } as const;
    expect(judge.outcome(sent, applied, "settle")).toMatchObject({ kind: "final", outcome: { kind: "succeeded" } });
  });

  it("whose reference is closed: expired past its deadline, from the queue; failed before it", () => {
    expect(judge.outcome(entry(PAST), { kind: "closed" }, "settle")).toMatchObject({ outcome: { status: "expired" } });
    expect(judge.outcome(entry(PAST), { kind: "closed" }, "execute")).toMatchObject({
      kind: "again",
      delayMs: 0,
      requeue: true,
    });
    expect(judge.outcome(entry(), { kind: "closed" }, "execute")).toMatchObject({
      outcome: { status: "failed", errorCode: "REJECTED_BY_SERVER" },
    });
  });

  it("whose server gave no answer: perhaps sent, and again after 1-2-4-8-16 s", () => {
    const pauses = [1, 2, 3, 4, 5, 6].map((attempts) => {
      const one = entry({ attempts });
      const verdict = judge.failure(one, new NoAnswer(), "execute");
      expect(one.maybeSent).toBe(true);
      expect(verdict).toMatchObject({ kind: "again", requeue: true });
      return verdict.kind === "again" ? verdict.delayMs : 0;
    });
    expect(pauses).toEqual([FIRST_RETRY_MS, 2_000, 4_000, 8_000, MAX_RETRY_MS, MAX_RETRY_MS]);
  });

  it("that breaks the executor again and again: settled, and INTERNAL if it never applied", () => {
    const one = entry();
    for (let broken = 1; broken < MAX_BROKEN_ATTEMPTS; broken += 1) {
      expect(judge.failure(one, new TypeError("bug"), "execute")).toMatchObject({ kind: "again" });
      expect(one.refusal).toBeNull();
    }
    expect(judge.failure(one, new TypeError("bug"), "execute")).toMatchObject({ kind: "again", delayMs: 0 });
    expect(judge.outcome(one, { kind: "closed" }, "settle")).toMatchObject({
      kind: "final",
      outcome: { status: "failed", errorCode: "INTERNAL" },
    });
  });

  it("that is settled while nobody can tell: never final", () => {
    for (const outcome of [{ kind: "unreachable", reason: "away" }, SERVER_DISABLED] as const) {
      expect(judge.outcome(entry({ ...PAST, maybeSent: true }), outcome, "settle").kind).toBe("again");
    }
    expect(judge.outcome(entry(PAST), undefined, "settle").kind).toBe("again");
  });
});
