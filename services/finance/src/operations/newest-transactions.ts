import type { ExportRecord, AccountRef } from "@kapi/contracts";

import type { TimeSpan } from "../domain/transaction-reads.ts";
import type { TransactionDependencies } from "./list-trading-account-transactions.ts";

/**
 * The newest `limit` transactions of a span as export records, newest first, after catching up with
 * the trading server; null if the account was deleted.
 */
export async function newestTransactions(
  { reader, catchUp }: TransactionDependencies,
  account: AccountRef,
  span: TimeSpan,
  limit: number,
): Promise<readonly ExportRecord[] | null> {
  if ((await reader.bookedSoFar(account)).standing === "deleted") return null;
  await catchUp(account);
  const rows = await reader.newest(account, span, limit);
  // If the account was deleted meanwhile, its rows are no longer shown.
  if ((await reader.bookedSoFar(account)).standing === "deleted") return null;
  return rows.map((row) => Object.assign({ kind: "transaction" as const }, row));
}
