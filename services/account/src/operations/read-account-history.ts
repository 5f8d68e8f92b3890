import type { ExportRecord, AccountRef } from "@kapi/contracts";

import type { HistoryRange, HistoryReader } from "../domain/history-ports.ts";
import { catchUp, type CatchUpDependencies } from "./catch-up.ts";

interface HistoryDependencies extends CatchUpDependencies {
  readonly reader: Pick<HistoryReader, "newest" | "bookedSequence">;
}

/**
 * The newest orders, positions and deals of an account, newest first, for an export (decisions, 8);
 * null if there is no such account. Before the read, books the account's events up to the trading
 * server's sequence, or rejects as {@link catchUp} does.
 */
export async function readAccountHistory(
  dependencies: HistoryDependencies,
  account: AccountRef,
  range: HistoryRange,
): Promise<{ records: ExportRecord[] } | null> {
  if (!(await catchUp(dependencies, account))) return null;
  const records = await dependencies.reader.newest(account, range);
  return records === null ? null : { records };
}
