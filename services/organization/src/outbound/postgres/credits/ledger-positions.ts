import { toIso } from "@kapi/kernel";
import { type Queryable, type Statement, statement } from "@kapi/postgres";

const MS_PER_SECOND = 1_000;
/** Entries from before the ledger had a table for each month; see migrations/0015. */
const BEFORE_MONTHS = "credit_legs";

/**
 * The epoch of a wallet shard, and the tables of its entries. While a transaction holds the shard's
 * lock, even shared, no other transaction changes the position.
 */
export interface LedgerPosition {
  readonly epoch: number;
  /** When the month of the epoch began. */
  readonly beganMs: number;
  /** Table of that month. */
  readonly table: string;
  /** Table of the shard's previous month; null: the shard had none. */
  readonly previousTable: string | null;
}

/**
 * A row of `tags`, and from `credit_ledger` the first epoch whose entries are in tables by month.
 */
export interface PositionRow {
  readonly epoch: number;
  readonly previous_epoch: number | null;
  readonly months_from: number;
}

/** The position of a row of `tags`. */
export function positionFromRow({ epoch, previous_epoch, months_from }: PositionRow): LedgerPosition {
  return {
    epoch,
    beganMs: Date.parse(`${monthOf(epoch)}-01T00:00:00Z`),
    table: tableOf(epoch, months_from),
    previousTable: previous_epoch === null ? null : tableOf(previous_epoch, months_from),
  };
}

function tableOf(epoch: number, monthsFrom: number): string {
  return epoch < monthsFrom ? BEFORE_MONTHS : `credit_entries_${monthOf(epoch).replace("-", "")}`;
}

function monthOf(epoch: number): string {
  return toIso(epoch * MS_PER_SECOND).slice(0, "2026-11".length);
}

/**
 * Returns the current tables of the shards, then their previous tables. An entry that is recorded
 * again may be in any of them, so a search reads them all.
 */
export function tablesOf(positions: Iterable<LedgerPosition>): string[] {
  const all = [...positions];
  const previous = all.flatMap(({ previousTable }) => previousTable ?? []);
  return [...new Set([...all.map(({ table }) => table), ...previous])];
}

/** One statement per table of entries. Naming the table avoids planning over all partitions. */
export function perTable<Row>(name: string, text: (table: string) => string): (table: string) => Statement<Row> {
  return (table) => statement<Row>(`${name}_${table}`, text(table));
}

/** The rows of all `tables`. */
export async function queryAll<Row>(
  tx: Queryable,
  tables: readonly string[],
  statementOf: (table: string) => Statement<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  return (await Promise.all(tables.map((table) => tx.query(statementOf(table), values)))).flat();
}
