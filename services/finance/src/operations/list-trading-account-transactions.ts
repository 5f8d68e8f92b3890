import { type PageQuery, paginationOf, type TransactionsAnswer } from "@kapi/contracts";
import type { z } from "zod";

import type { AccountName } from "../domain/ledger.ts";
import type { TransactionReader } from "../domain/transaction-reads.ts";

export interface TransactionSources {
  readonly reader: TransactionReader;
  /** Books what the trading server has done by now; rejects where that cannot be. */
  readonly catchUp: (account: AccountName) => Promise<void>;
}

/**
 * A page of an account's ledger, newest first; null where the account was deleted. What an account
 * command booked on the trading server is its initial balance alone, so only an account that the
 * ledger has never seen has to be asked for: once its creation has succeeded, its first row is
 * there.
 */
export async function listTradingAccountTransactions(
  { reader, catchUp }: TransactionSources,
  account: AccountName,
  query: PageQuery,
): Promise<z.output<typeof TransactionsAnswer> | null> {
  let page = await reader.page(account, query);
  if (page.standing === "unknown") {
    await catchUp(account);
    page = await reader.page(account, query);
  }
  if (page.standing === "deleted") return null;
  return { transactions: [...page.transactions], pagination: paginationOf(query, page.total) };
}
