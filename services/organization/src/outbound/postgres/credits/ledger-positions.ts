import { toIso } from "@kapi/kernel";
import { type Statement, statement } from "@kapi/postgres";

import type { LedgerPosition } from "../../../domain/credits/ports.ts";

const MS_PER_SECOND = 1_000;
/** Entries from before months; see migrations/0015. */
const BEFORE_MONTHS = "credit_legs";

/** A row of `tags`, with the first epoch that has months. */
export interface PositionRow {
  readonly epoch: number;
  readonly previous_epoch: number | null;
  readonly months_from: number;
}

export function positionFromRow({ epoch, previous_epoch, months_from }: PositionRow): LedgerPosition {
  return {
    epoch,
    beganMs: Date.parse(`${toIso(epoch * MS_PER_SECOND).slice(0, "2026-11".length)}-01T00:00:00Z`),
    table: tableOf(epoch, months_from),
    previousTable: previous_epoch === null ? null : tableOf(previous_epoch, months_from),
  };
}

function tableOf(epoch: number, monthsFrom: number): string {
  if (epoch < monthsFrom) return BEFORE_MONTHS;
  return `credit_entries_${toIso(epoch * MS_PER_SECOND)
    .slice(0, "2026-11".length)
    .replace("-", "")}`;
}

/** Current tables of the shards, then those of the month before: where a repeated entry may be. */
export function tablesOf(positions: Iterable<LedgerPosition>): string[] {
  const all = [...positions];
  const previous = all.flatMap(({ previousTable }) => previousTable ?? []);
  return [...new Set([...all.map(({ table }) => table), ...previous])];
}

/** One statement per table of entries. Naming the table avoids planning over all partitions. */
export function perTable<Row>(name: string, text: (table: string) => string): (table: string) => Statement<Row> {
  const made = new Map<string, Statement<Row>>();
  return (table) => {
    const known = made.get(table);
    if (known) return known;
    const fresh = statement<Row>(`${name}_${table}`, text(table));
    made.set(table, fresh);
    return fresh;
  };
}
