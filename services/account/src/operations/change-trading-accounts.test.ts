import { CommandMessage, type CommandOperation } from "@kapi/contracts";
import { commandMessage, TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import type { ChangeOutcome } from "../domain/account-change.ts";
import type { Account } from "../domain/account.ts";
import { settleTradingAccounts } from "./change-trading-accounts.ts";
import { queuedOperations } from "./queued-operations.ts";

type Ports = Parameters<typeof settleTradingAccounts>[0];

const REFUSED: ChangeOutcome = {
  kind: "refused",
  errorCode: "ACCOUNT_HAS_OPEN_POSITIONS",
  reason: "one position was closed, one stays open",
};

/**
 * Settles a command that the trading server refused. `caughtUp` lists which of `history` and
 * `ledger` were caught up.
 */
async function settleRefused(operation: CommandOperation, payload: Record<string, unknown>, isBookable = true) {
  const message = CommandMessage.parse(commandMessage({ operation, payload }));
  const { serverId, accountNumber } = message;
  const caughtUp: string[] = [];
  let booked = 4;
  const ports = {
    clock: new TestClock(0),
    operations: queuedOperations(() => ""),
    changer: { settle: () => Promise.resolve([REFUSED]) },
    repository: { read: () => Promise.resolve([{ serverId, accountNumber } as Account]) },
    bookChanges: () => Promise.resolve(),
    ledger: {
      catchUp: async () => {
        caughtUp.push("ledger");
      },
    },
    history: {
      reader: { bookedSequence: () => Promise.resolve(booked) },
      feed: {
        lastSequence: () => (isBookable ? Promise.resolve(6) : Promise.reject(new Error("no answer"))),
        bookNextPage: async () => {
          booked = 6;
          caughtUp.push("history");
        },
      },
    },
  };
  const [run] = await settleTradingAccounts(ports as unknown as Ports, serverId, [message]);
  return { run, caughtUp: caughtUp.toSorted() };
}

it.each([
  ["account.flatten", {}],
  ["account.disable", { flatten: true }],
] as const)(
  "%s that closed only some positions books the events of these positions before it fails",
  async (operation, payload) => {
    const { run, caughtUp } = await settleRefused(operation, payload);
    expect(run).toMatchObject({ kind: "refused", errorCode: "ACCOUNT_HAS_OPEN_POSITIONS" });
    expect(caughtUp).toEqual(["history", "ledger"]);
  },
);

it("a flatten that failed is retried while its events cannot be booked", async () => {
  const { run } = await settleRefused("account.flatten", {}, false);
  expect(run).toEqual({ kind: "retry", reason: "the history is unavailable" });
});

it("an archiving that is rejected has no events to book", async () => {
  const { run, caughtUp } = await settleRefused("account.archive", {});
  expect(run).toMatchObject({ kind: "refused", partial: null });
  expect(caughtUp).toEqual([]);
});
