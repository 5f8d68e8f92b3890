import { describe, expect, it } from "vitest";

import { CommandMessage } from "@kapi/contracts";
import { FIRST_RETRY_MS, MAX_RETRY_MS } from "@kapi/kernel";
import { createLogger, type Logger } from "@kapi/runtime";
import { commandMessage, TestClock } from "@kapi/testkit";

import { type Entry, type CommandPartition, orderKeyOf } from "./entry.ts";
import { MAX_UNEXPECTED_ERRORS } from "./limits.ts";
import { OutcomeResolver } from "./outcome-resolver.ts";

class NoAnswer extends Error {}

const clock = new TestClock(Date.now());
const resolver = resolverWith(createLogger({ service: "test", level: "silent" }));
const SERVER_DISABLED = { kind: "refuse", errorCode: "SERVER_DISABLED", errorMessage: "disabled" } as const;

function resolverWith(logger: Logger): OutcomeResolver<null> {
  const executor = { isUnreachable: (error: unknown) => error instanceof NoAnswer };
  return new OutcomeResolver<null>({ clock, random: () => 0, executor, logger });
}

function entry(overrides: Partial<Entry> = {}): Entry {
  const message = CommandMessage.parse(commandMessage());
  const partition: CommandPartition = { partition: 0, lease: null, remove: () => undefined };
  return {
    message,
    orderKey: orderKeyOf(message),
    offset: 1,
    partition,
    deadlineMs: clock.nowMs() + 1_000,
    attempts: 1,
    maybeSent: false,
    rejection: null,
    unexpectedErrors: 0,
    dropped: false,
    ...overrides,
  };
}

const PAST = { deadlineMs: clock.nowMs() - 1 };

describe("the outcome resolver", () => {
  it("fails a rejected command at once if the command was never sent, and first settles a command that may have been sent", () => {
    const fresh = entry();
    expect(resolver.resolve(fresh, SERVER_DISABLED, "execute")).toMatchObject({
      kind: "final",
      outcome: { kind: "closed", status: "failed", errorCode: "SERVER_DISABLED" },
    });
    const sent = entry({ maybeSent: true });
    expect(resolver.resolve(sent, SERVER_DISABLED, "execute")).toMatchObject({ kind: "again", delayMs: 0 });
    expect(sent.rejection).toMatchObject({ errorCode: "SERVER_DISABLED" });
    expect(resolver.resolve(sent, { kind: "closed" }, "settle")).toMatchObject({
      outcome: { status: "failed", errorCode: "SERVER_DISABLED" },
    });
  });

  it("lets a rejected command succeed if the settlement shows that an earlier attempt applied the change", () => {
    const sent = entry({ maybeSent: true, rejection: SERVER_DISABLED });
    const applied = { kind: "succeeded", result: { a: 1 }, effect: null } as const;
    expect(resolver.resolve(sent, applied, "settle")).toMatchObject({ kind: "final", outcome: { kind: "succeeded" } });
  });

  it("fails a command whose reference is closed; past the deadline, expires the command if `settle` returned `closed`, and requeues it if `execute` returned `closed`", () => {
    expect(resolver.resolve(entry(PAST), { kind: "closed" }, "settle")).toMatchObject({
      outcome: { status: "expired" },
    });
    expect(resolver.resolve(entry(PAST), { kind: "closed" }, "execute")).toMatchObject({
      kind: "again",
      delayMs: 0,
      requeue: true,
    });
    expect(resolver.resolve(entry(), { kind: "closed" }, "execute")).toMatchObject({
      outcome: { status: "failed", errorCode: "REJECTED_BY_SERVER" },
    });
  });

  it("retries a command after 1-2-4-8-16 s if its server gave no answer", () => {
    const pauses = [1, 2, 3, 4, 5, 6].map((attempts) => {
      const one = entry({ attempts });
      const resolution = resolver.resolveFailure(one, new NoAnswer(), "execute");
      expect(one.maybeSent).toBe(true);
      expect(resolution).toMatchObject({ kind: "again", requeue: true });
      return resolution.kind === "again" ? resolution.delayMs : 0;
    });
    expect(pauses).toEqual([FIRST_RETRY_MS, 2_000, 4_000, 8_000, MAX_RETRY_MS, MAX_RETRY_MS]);
  });

  it("settles a command that keeps causing unexpected errors, and fails it INTERNAL if it never applied", () => {
    const one = entry();
    for (let unexpectedErrors = 1; unexpectedErrors < MAX_UNEXPECTED_ERRORS; unexpectedErrors += 1) {
      expect(resolver.resolveFailure(one, new TypeError("bug"), "execute")).toMatchObject({ kind: "again" });
      expect(one.rejection).toBeNull();
    }
    expect(resolver.resolveFailure(one, new TypeError("bug"), "execute")).toMatchObject({ kind: "again", delayMs: 0 });
    expect(resolver.resolve(one, { kind: "closed" }, "settle")).toMatchObject({
      kind: "final",
      outcome: { status: "failed", errorCode: "INTERNAL" },
    });
  });

  it("never makes a command final if `settle` gives no outcome or returns `refuse`", () => {
    for (const outcome of [{ kind: "unreachable", reason: "no answer" }, SERVER_DISABLED] as const) {
      expect(resolver.resolve(entry({ ...PAST, maybeSent: true }), outcome, "settle").kind).toBe("again");
    }
    expect(resolver.resolve(entry(PAST), undefined, "settle").kind).toBe("again");
  });

  it("logs which command is retried, and whether its change or its settlement was not answered", () => {
    const lines: unknown[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const logging = resolverWith(createLogger({ service: "test", level: "warn", destination }));
    const one = entry({ attempts: 3 });
    const { commandId, serverId, accountNumber, operation } = one.message;
    const named = { commandId, serverId, accountNumber, operation, attempts: 3 };

    logging.resolveFailure(one, new NoAnswer("timeout"), "execute");
    logging.resolve(one, { kind: "unreachable", reason: "no answer" }, "execute");
    logging.resolveFailure(one, new NoAnswer("timeout"), "settle");
    logging.resolve(one, { kind: "retry", reason: "the directory does not know the server yet" }, "execute");
    logging.resolveFailure(one, new TypeError("bug"), "settle");

    const requeued = { ...named, msg: "command goes back to the queue" };
    expect(lines).toMatchObject([
      { ...requeued, unanswered: "change", err: { message: "timeout" } },
      { ...requeued, unanswered: "change", reason: "no answer" },
      { ...named, msg: "command could not be settled", unanswered: "settlement", err: { message: "timeout" } },
      { ...requeued, reason: "the directory does not know the server yet" },
      { ...named, msg: "an attempt of a command ended in an unexpected error" },
    ]);
    expect(lines[3]).not.toHaveProperty("unanswered");
  });
});
