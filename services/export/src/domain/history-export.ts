/**
 * Merges the records of all owners into one order, up to the requested limit and the maximum size.
 */
import type { ExportRecord, HistoryExport } from "@kapi/contracts";
import { assert } from "@kapi/kernel";

/**
 * Maximum size of the records of a result, in bytes of JSON. It is below the limit of
 * `command.events`, with room for the other fields of the event, so that no export blocks later
 * messages. 1,000 of the largest records that requests to the API can cause are 2.7 MB.
 */
export const MAX_RESULT_BYTES = 4_000_000;

/** Inclusive times in ISO 8601, UTC; null is unbounded. */
export interface ExportQuery {
  readonly from: string | null;
  readonly to: string | null;
  readonly limit: number;
}

/** The time by which exports filter and order a record (decisions, 8). */
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
 * The newest `limit` records of all owners together, newest first. Each of `owners` has the newest
 * `limit` + 1 records of one owner. Records within one millisecond keep the order of the owners,
 * and the order within an owner: with finance as the first owner, a deal's transactions come before
 * the deal. If these records together exceed {@link MAX_RESULT_BYTES}, the oldest are left out.
 * `truncated`: whether more records exist than the result has.
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
    // 1 is the comma.
    bytes += Buffer.byteLength(JSON.stringify(record)) + 1;
    return bytes > MAX_RESULT_BYTES;
  });
  assert(count !== 0, `the newest record of an export has more than ${MAX_RESULT_BYTES} bytes`);
  return records.slice(0, count === -1 ? records.length : count);
}
