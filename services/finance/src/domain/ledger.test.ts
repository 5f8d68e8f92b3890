import { describe, expect, it } from "vitest";

import { isAnnouncedByFinance, type TradingDeal } from "@kapi/contracts";
import { accountCreated, balanceChanged, eventEnvelope } from "@kapi/testkit";

import { bookEvents, type LedgerAccount } from "./ledger.ts";
import { postingsOf } from "./posting.ts";
import { errorCodeOf } from "./error-codes.ts";

const COMMAND_ID = "0190f6d2-0000-5000-8000-00000000000a";

function account(overrides: Partial<LedgerAccount> = {}): LedgerAccount {
  const { serverId, accountNumber } = eventEnvelope();
  return {
    serverId,
    accountNumber,
    organizationId: "0190f6d2-0000-4000-8000-000000000001",
    currency: "USD",
    lastSequence: 0,
    balanceMinor: 0,
    transactionSequence: 0,
    announcedSequence: 0,
    ...overrides,
  };
}

function deal(overrides: Partial<TradingDeal>) {
  const executed: TradingDeal = {
    id: "d1",
    orderId: "o1",
    positionId: "p1",
    symbol: "EURUSD",
    side: "sell",
    kind: "exit",
    volume: 1,
    price: 1.1,
    realizedPnlMinor: 0,
    commissionMinor: 0,
    swapMinor: 0,
    executedAt: "2026-01-01T00:00:00.000Z",
    ...overrides,
  };
  return { ...eventEnvelope(), type: "deal.executed" as const, deal: executed };
}

describe("booking", () => {
  it("numbers transactions without a gap and continues the balance", () => {
    const start = account({ lastSequence: 4, balanceMinor: 1_000, transactionSequence: 2 });
    const { account: end, transactions } = bookEvents(start, [
      balanceChanged({ ...start, sequence: 5, amountMinor: 250, balanceMinor: 1_250, reference: COMMAND_ID }),
      balanceChanged({ ...start, sequence: 6, kind: "withdrawal", amountMinor: -50, balanceMinor: 1_200 }),
    ]);
    expect(transactions.map((row) => [row.sequence, row.balanceBeforeMinor, row.balanceAfterMinor])).toEqual([
      [3, 1_000, 1_250],
      [4, 1_250, 1_200],
    ]);
    expect(transactions.map(({ commandId }) => commandId)).toEqual([COMMAND_ID, null]);
    expect(end).toMatchObject({ lastSequence: 6, balanceMinor: 1_200, transactionSequence: 4 });
  });

  it("gives a transaction the same id each time its event is booked, and each transaction of an event its own id", () => {
    const start = account();
    const event = accountCreated({ ...start, initialBalanceMinor: 5 });
    expect(bookEvents(start, [event]).transactions[0]?.id).toBe(bookEvents(start, [event]).transactions[0]?.id);
    const both = { ...deal({ realizedPnlMinor: 10, swapMinor: -1 }), sequence: 1 };
    const ids = bookEvents(start, [both]).transactions.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
  });

  it("places each transaction after the earlier account events, and after the event of its own deal", () => {
    const start = account();
    const margin = { type: "margin.call" as const, equityMinor: 1, marginMinor: 1, marginLevel: 99 };
    const run = [
      accountCreated({ ...start, sequence: 1, initialBalanceMinor: 500 }),
      balanceChanged({ ...start, sequence: 2, amountMinor: 100 }),
      { ...eventEnvelope({ sequence: 3 }), ...margin },
      { ...deal({ realizedPnlMinor: 10, commissionMinor: -1, swapMinor: -1 }), sequence: 4 },
      { ...deal({}), sequence: 5 },
      balanceChanged({ ...start, sequence: 6, amountMinor: 100 }),
    ];
    const whole = bookEvents(start, run);
    expect(whole.account.announcedSequence).toBe(5);
    expect(whole.transactions.map(({ place: { through, after } }) => [through, after])).toEqual([
      [1, 1],
      [2, 1],
      [3, 4],
      [3, 4],
      [4, 4],
      [6, 5],
    ]);
    const first = bookEvents(start, run.slice(0, 4));
    const second = bookEvents(first.account, run.slice(4));
    expect([...first.transactions, ...second.transactions]).toEqual(whole.transactions);
  });

  it("takes the caller of a transaction from its event; null if the event has no caller", () => {
    const start = account();
    const createdBy = { type: "key", id: "mfrggzdfmztwq2lk" } as const;
    const made = accountCreated({ ...start, initialBalanceMinor: 5, createdBy });
    const closed = { ...deal({ realizedPnlMinor: 10 }), sequence: 2, createdBy };
    const traded = { ...deal({ realizedPnlMinor: 10 }), sequence: 3 };
    const { transactions } = bookEvents(start, [made, closed, traded]);
    expect(transactions.map((row) => row.createdBy)).toEqual([createdBy, createdBy, null]);
  });

  it("advances the sequence also for an event that moves no money", () => {
    const start = account({ lastSequence: 1, balanceMinor: 700 });
    const event = { ...eventEnvelope({ sequence: 2, balanceMinor: 700 }), type: "account.deleted" as const };
    const { account: end, transactions, discrepancies } = bookEvents(start, [event]);
    expect([end.lastSequence, transactions.length, discrepancies.length]).toEqual([2, 0, 0]);
  });

  it("reports a different balance of the trading server, and still books", () => {
    const start = account();
    const event = balanceChanged({ ...start, sequence: 1, amountMinor: 100, balanceMinor: 101 });
    const { discrepancies, account: end } = bookEvents(start, [event]);
    expect(discrepancies).toMatchObject([{ eventSequence: 1, ledgerBalanceMinor: 100, serverBalanceMinor: 101 }]);
    expect(end.balanceMinor).toBe(100);
  });
});

describe("the postings of an event", () => {
  it("are the nonzero profit, commission and swap of a deal, with the ids of the order, the position and the deal", () => {
    expect(postingsOf(deal({ realizedPnlMinor: 1_200, commissionMinor: -35, swapMinor: 0 }))).toMatchObject([
      { type: "realized_pnl", amountMinor: 1_200, orderId: "o1", positionId: "p1", dealId: "d1" },
      { type: "commission", amountMinor: -35, dealId: "d1" },
    ]);
    expect(postingsOf(deal({ swapMinor: -3 }))).toMatchObject([{ type: "swap", amountMinor: -3 }]);
  });

  it("are empty for an account with zero initial balance", () => {
    expect(postingsOf(accountCreated({ initialBalanceMinor: 0 }))).toEqual([]);
  });

  it("keep kind and description of a balance operation", () => {
    const event = balanceChanged({ kind: "adjustment", amountMinor: -7, description: "correction" });
    expect(postingsOf(event)).toMatchObject([{ type: "adjustment", amountMinor: -7, description: "correction" }]);
  });
});

it("an event counts as announced by finance exactly if it makes a posting", () => {
  const moved = [
    deal({ realizedPnlMinor: 1 }),
    deal({ commissionMinor: -1 }),
    deal({ swapMinor: 2 }),
    balanceChanged(),
  ];
  const created = [500, 0].map((initialBalanceMinor) => accountCreated({ initialBalanceMinor }));
  const other = { ...eventEnvelope(), type: "account.deleted" as const };
  for (const event of [...moved, ...created, deal({}), balanceChanged({ amountMinor: 0 }), other]) {
    expect(isAnnouncedByFinance(event)).toBe(postingsOf(event).length > 0);
  }
});

describe("a rejection", () => {
  it.each([
    ["ACCOUNT_NOT_FOUND", true, "ACCOUNT_NOT_FOUND"],
    ["ACCOUNT_NOT_FOUND", false, "ACCOUNT_NOT_READY"],
    ["INSUFFICIENT_FUNDS", true, "INSUFFICIENT_FUNDS"],
    ["ACCOUNT_ARCHIVED", true, "ACCOUNT_ARCHIVED"],
    ["INVALID_CHANGE", true, "REJECTED_BY_SERVER"],
    ["SOMETHING_NEW", false, "REJECTED_BY_SERVER"],
  ])("%s, account known: %s, becomes %s", (code, known, expected) => {
    expect(errorCodeOf(code, known)).toBe(expected);
  });
});
