/** Digests computed in the simplest way from the transactions that the API shows. */
import { FINANCE_ROUTES, type Transaction } from "@kapi/contracts";

import { recordsHash } from "../../../docs/examples/daily-digest.ts";

/** The digest of a day from all transactions of an account. */
export function naiveDigest(accountNumber: string, currency: string, day: string, all: readonly Transaction[]) {
  const ofDay = all.filter(({ recordedAt }) => recordedAt.startsWith(day));
  const upToDay = all.filter(({ recordedAt }) => recordedAt.slice(0, day.length) <= day);
  return {
    accountNumber,
    currency,
    closingBalance: sum(upToDay),
    transactions: { count: ofDay.length, amount: sum(ofDay), hash: recordsHash("transactions", ofDay) },
  };
}

/** The digests of a page. `contents` are the digests without their revision and times. */
export function parseDigests(body: unknown) {
  const page = FINANCE_ROUTES.listTransactionDigests.answer.parse(body);
  if (page.state !== "made") throw new Error(`the digests are ${page.state}`);
  const { digests, pagination } = page;
  const contents = digests.map(({ accountNumber, currency, closingBalance, transactions }) => ({
    accountNumber,
    currency,
    closingBalance,
    transactions,
  }));
  return { digests, contents, pagination };
}

function sum(transactions: readonly Transaction[]): number {
  return Math.round(transactions.reduce((total, { amount }) => total + amount, 0) * 100) / 100;
}
