import type { QueuedCommand, WaitOptions } from "../commands/queued-command.ts";
import type { ExportRecord } from "../commands/results.ts";
import type { QueueOptions } from "./commands.ts";
import type { Period } from "./pages.ts";

/** Maximum number of records that one command exports. */
const RECORDS_PER_COMMAND = 1_000;

/** Which records to export, and how long to wait for each of the commands that export them. */
export interface ExportOptions extends QueueOptions, WaitOptions {
  /** Records at or after this time. */
  readonly from?: Period["since"] | undefined;
  /**
   * Records at or before this time. Give a time in the past if exports with different keys must
   * have the same records.
   */
  readonly to?: Period["until"] | undefined;
}

/**
 * Exports the records of an account, with one command after another until an export is not
 * truncated, newest records first. `to` of the next export is the millisecond of the last record.
 * So the next export has the records of that millisecond again; they are returned once.
 * @throws Error if one export cannot hold all records of a millisecond and one older record; the
 * errors of `QueuedCommand.result`.
 */
export async function* exportRecords(
  queue: (body: object, options: QueueOptions) => Promise<QueuedCommand<"account.history_export">>,
  { key, requestId, from, to, timeoutMs, signal }: ExportOptions,
): AsyncGenerator<ExportRecord, void, undefined> {
  let end = to instanceof Date ? to.toISOString() : to;
  let atEnd = new Set<string>();
  for (let part = 0; ; part += 1) {
    const body = { from, to: end, limit: RECORDS_PER_COMMAND };
    const keyOfPart = part === 0 ? key : `${key}.${part}`;
    const command = await queue(body, { key: keyOfPart, requestId: requestId ?? key, signal });
    const { records, truncated } = await command.result({ timeoutMs, signal });
    const known = atEnd;
    let isNew = false;
    for (const record of records) {
      const id = `${record.kind} ${record.id}`;
      if (known.has(id)) continue;
      isNew = true;
      const millisecond = new Date(timeOf(record)).toISOString();
      if (millisecond !== end) atEnd = new Set();
      end = millisecond;
      atEnd.add(id);
      yield record;
    }
    if (!truncated) return;
    if (!isNew) throw new Error(`too many records have the time ${end}: an export cannot continue after them`);
  }
}

/** The time of a record by which exports are ordered. */
function timeOf(record: ExportRecord): string {
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
