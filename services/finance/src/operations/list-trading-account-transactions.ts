import {
  cursorPage,
  type ListTransactionsQuery,
  listScope,
  pageStart,
  type TransactionsAnswer,
  type AccountRef,
} from "@kapi/contracts";
import type { z } from "zod";

import type { TransactionReader } from "../domain/transaction-reads.ts";

/**
 * What reads of the ledger need. A list catches up only for an account that the ledger has never
 * seen. The reads of the newest transactions and of the balance always catch up.
 */
export interface TransactionDependencies {
  readonly reader: TransactionReader;
  /** Books up to the trading server's current sequence; rejects if that fails. */
  readonly catchUp: (account: AccountRef) => Promise<void>;
}

/**
 * A page of an account's ledger, newest first; null if the account was deleted. Only a creation
 * succeeds before its transaction is booked here: other commands wait for the booking. So a page
 * catches up only for an account that the ledger has never seen, to show the initial balance.
 */
export async function listTradingAccountTransactions(
  { reader, catchUp }: TransactionDependencies,
  account: AccountRef,
  query: ListTransactionsQuery,
): Promise<z.output<typeof TransactionsAnswer> | null> {
  const start = pageStart("transactions", query);
  // One transaction more shows whether another page follows.
  const range = { offset: start.offset, limit: start.limit + 1, below: start.after?.[0] ?? null };
  let page = await reader.page(account, query, range);
  if (page.standing === "unknown") {
    await catchUp(account);
    page = await reader.page(account, query, range);
  }
  if (page.standing === "deleted") return null;
  const read = { rows: page.transactions, total: page.total };
  const { rows, pagination } = cursorPage("transactions", listScope({ ...account }), start, read, ({ sequence }) => [
    sequence,
  ]);
  return { transactions: [...rows], pagination };
}
