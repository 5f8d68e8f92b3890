import type { ExportRecord } from "@kapi/contracts";

import type { HistoryRange, HistoryReader } from "../domain/history-ports.ts";
import type { AccountName } from "../domain/ports.ts";
import { catchUp, type CatchUpSources } from "./catch-up.ts";

export interface HistorySources extends CatchUpSources {
  readonly reader: Pick<HistoryReader, "newest" | "bookedSequence">;
}

/**
 * The newest orders, positions and deals of an account together, newest first, for an export
 * (decisions, 8); null where there is no such account. Booked up to the trading server's own
 * sequence first, else DependencyError.
 */
export async function readAccountHistory(
  sources: HistorySources,
  account: AccountName,
  range: HistoryRange,
): Promise<{ records: ExportRecord[] } | null> {
  if (!(await catchUp(sources, account))) return null;
  const records = await sources.reader.newest(account, range);
  return records === null ? null : { records };
}
