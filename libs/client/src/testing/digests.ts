/** The daily digests of the fake: every day that is over is complete. */
import { digestHash, recordsHash } from "../digests/hash.ts";
import type { AccountDigest, Deal, Transaction } from "../generated/api.ts";
import { amountOf, type FakeState, type Json, minorOf, type StoredAccount } from "./state.ts";

/**
 * Returns one digest for each account of the server that was created on or before `date`. Deleted
 * accounts are included. Sorted from the highest account number down.
 */
export function digestsOf(state: FakeState, serverId: string, date: string): Json[] {
  return [...state.accounts.values()]
    .filter((account) => account.serverId === serverId && account.createdAt.slice(0, date.length) <= date)
    .map((account) => digestOf(state, account, date))
    .toSorted((one, other) => (String(one["accountNumber"]) < String(other["accountNumber"]) ? 1 : -1));
}

function digestOf(state: FakeState, { serverId, accountNumber, ...account }: StoredAccount, date: string): Json {
  const transactions = account.transactions.filter(({ recordedAt }) => String(recordedAt).startsWith(date));
  const untilDate = account.transactions.filter(({ recordedAt }) => String(recordedAt).slice(0, date.length) <= date);
  const deals = account.deals.filter(({ executedAt }) => String(executedAt).startsWith(date));
  const content = {
    accountNumber,
    date,
    currency: "USD" as const,
    closingBalance: sum(untilDate, "amount"),
    transactions: {
      count: transactions.length,
      amount: sum(transactions, "amount"),
      hash: recordsHash("transactions", transactions as unknown as Transaction[]),
    },
    deals: {
      count: deals.length,
      commission: sum(deals, "commission"),
      realizedPnl: sum(deals, "realizedPnl"),
      swap: sum(deals, "swap"),
      hash: recordsHash("deals", deals as unknown as Deal[]),
    },
  };
  const hash = digestHash(serverId, content as unknown as AccountDigest);
  return { ...content, hash, revision: 1, createdAt: state.now(), revisedAt: null };
}

function sum(records: readonly Json[], field: string): number {
  return amountOf(records.reduce((total, record) => total + minorOf(Number(record[field])), 0));
}
