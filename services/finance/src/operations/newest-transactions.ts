import type { ExportRecord } from "@kapi/contracts";

import type { AccountName } from "../domain/ledger.ts";
import type { TimeSpan } from "../domain/transaction-reads.ts";
import type { TransactionSources } from "./list-trading-account-transactions.ts";

/**
 * The newest `limit` transactions of a span as records of an export, newest first, after everything
 * is booked that the trading server has done by now; null where the account was deleted.
 */
export async function newestTransactions(
  { reader, catchUp }: TransactionSources,
  account: AccountName,
  span: TimeSpan,
  limit: number,
): Promise<readonly ExportRecord[] | null> {
  if ((await reader.bookedSoFar(account)).standing === "deleted") return null;
  await catchUp(account);
  const rows = await reader.newest(account, span, limit);
  // Deleted meanwhile: from the mark on nobody sees a row.
  if ((await reader.bookedSoFar(account)).standing === "deleted") return null;
  return rows.map((row) => Object.assign({ kind: "transaction" as const }, row));
}
