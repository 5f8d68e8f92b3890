/**
 * What an export is made of: the records of all owners in one order, and as many of them as were
 * asked for and fit.
 */
import type { ExportRecord, HistoryExport } from "@kapi/contracts";
import { assert } from "@kapi/kernel";

/**
 * Largest result, in bytes of JSON. Below what `command.events` takes, so that no export can stand
 * in the way of what is published after it: the event around it has less than the rest. 1,000 of
 * the largest records that the API lets in come to 2.7 MB.
 */
export const MAX_RESULT_BYTES = 4_000_000;

/** What was asked for. Times are inclusive, ISO 8601 in UTC; null: no bound. */
export interface ExportQuery {
  readonly from: string | null;
  readonly to: string | null;
  readonly limit: number;
}

/** The time by which a record is found and ordered (decisions, 8). */
export function timeOf(record: ExportRecord): string {
  switch (record.kind) {
    case "transaction":
      return record.recordedAt;
    case "order":
      return record.createdAt;
    case "position":
      return record.openedAt;
    case "deal":
      return record.executedAt;
  }
}

/**
 * The newest `limit` records of several owners, each of which gave its newest `limit` + 1. Newest
 * first; of one moment, the owners in the order given, and the records of an owner in the order
 * that it gave: a deal's bookings stand before the deal, which came before them. What does not fit
 * into {@link MAX_RESULT_BYTES} counts as left out by the limit.
 */
export function mergeHistory(owners: readonly (readonly ExportRecord[])[], query: ExportQuery): HistoryExport {
  const all = owners
    .flat()
    .map((record) => ({ record, ms: Date.parse(timeOf(record)) }))
    .sort((a, b) => b.ms - a.ms)
    .map(({ record }) => record);
  const records = fitting(all.slice(0, query.limit));
  const { from, to } = query;
  return { from, to, recordCount: records.length, truncated: all.length > records.length, records };
}

function fitting(records: readonly ExportRecord[]): ExportRecord[] {
  let bytes = 0;
  const count = records.findIndex((record) => {
    // And the comma behind it.
    bytes += Buffer.byteLength(JSON.stringify(record)) + 1;
    return bytes > MAX_RESULT_BYTES;
  });
  assert(count !== 0, `a record has at most ${MAX_RESULT_BYTES} bytes`);
  return records.slice(0, count === -1 ? records.length : count);
}
