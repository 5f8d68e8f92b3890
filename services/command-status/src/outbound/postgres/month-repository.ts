import { type Queryable, statement } from "@kapi/postgres";

import type { MonthDrop, MonthRepository } from "../../domain/ports.ts";

/** Number of months after the current one whose partitions are created ahead. */
const MONTHS_AHEAD = 2;
/** Number of rows of the table `commands` of release 0.1.0 that one statement backfills. */
const BACKFILL_ROWS = 1_000;
/** Number of pages (8 KiB) of an expired month that one statement reads. */
const OUTCOME_PAGES = 250;

// Statements with effects begin with `with`, because the pool treats `select` as a read.
const CREATE_PARTITIONS = statement<Record<string, never>>(
  "command_months_make",
  `with months as (
     select (current_command_month() + ahead * interval '1 month')::date as month from generate_series(0, $1::integer) as ahead
   )
   select keep_command_month(month) from months`,
);
const BACKFILL_IDS = statement<{ more: boolean }>(
  "command_ids_fill",
  "with filled as (select fill_command_ids($1::integer) as more) select more from filled",
);
const EXPIRED_MONTHS = statement<{ month: string; is_open: boolean }>(
  "command_months_past",
  `select to_char(month, 'YYYY-MM-DD') as month, has_open_commands(month) as is_open
   from past_command_months($1::integer) as month`,
);
const ARCHIVE_OUTCOMES = statement<{ next_page: number | null }>(
  "command_months_keep_outcomes",
  `with kept as (select keep_command_outcomes($1::date, $2::bigint, $3::integer) as next_page) select next_page from kept`,
);
const DROP_MONTH = statement<{ outcome: MonthDrop }>(
  "command_months_drop",
  "with dropped as (select drop_command_month($1::date) as outcome) select outcome from dropped",
);

/** The partitions of commands by month. */
export function createMonthRepository(database: Queryable): MonthRepository {
  return {
    createPartitions: () => createMonthPartitions(database),
    backfillIds: async () => (await database.query(BACKFILL_IDS, [BACKFILL_ROWS]))[0]?.more ?? false,
    findExpired: async (kept) =>
      (await database.query(EXPIRED_MONTHS, [kept])).map(({ month, is_open: isOpen }) => ({ month, isOpen })),
    archiveOutcomes: async (month, firstPage) =>
      (await database.query(ARCHIVE_OUTCOMES, [month, firstPage, OUTCOME_PAGES]))[0]?.next_page ?? null,
    drop: async (month) => (await database.query(DROP_MONTH, [month]))[0]?.outcome ?? "used",
  };
}

/** Creates the partitions of the current month and of the next ones. */
export async function createMonthPartitions(database: Queryable): Promise<void> {
  await database.query(CREATE_PARTITIONS, [MONTHS_AHEAD]);
}
