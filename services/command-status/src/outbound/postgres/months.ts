import { type Queryable, statement } from "@kapi/postgres";

import type { MonthDrop, MonthStore } from "../../domain/ports.ts";

/** Partitions are made so many months ahead. */
const MONTHS_AHEAD = 2;
/** Rows of the old table that get their ids in one statement. */
const FILL_ROWS = 1_000;
/** Pages (8 KiB) that one statement reads of a month that will be dropped. */
const OUTCOME_PAGES = 250;

// `with`: it writes, and statements that begin with `select` are taken for reads.
const MAKE_MONTHS = statement<Record<string, never>>(
  "command_months_make",
  `with months as (
     select (current_command_month() + ahead * interval '1 month')::date as month from generate_series(0, $1::integer) as ahead
   )
   select keep_command_month(month) from months`,
);
const FILL_IDS = statement<{ more: boolean }>(
  "command_ids_fill",
  "with filled as (select fill_command_ids($1::integer) as more) select more from filled",
);
const PAST_MONTHS = statement<{ month: string; is_open: boolean }>(
  "command_months_past",
  `select to_char(month, 'YYYY-MM-DD') as month, has_open_commands(month) as is_open
   from past_command_months($1::integer) as month`,
);
const KEEP_OUTCOMES = statement<{ next_page: number | null }>(
  "command_months_keep_outcomes",
  `with kept as (select keep_command_outcomes($1::date, $2::bigint, $3::integer) as next_page) select next_page from kept`,
);
const DROP_MONTH = statement<{ outcome: MonthDrop }>(
  "command_months_drop",
  "with dropped as (select drop_command_month($1::date) as outcome) select outcome from dropped",
);

/** The partitions of commands by month. */
export function createMonthStore(database: Queryable): MonthStore {
  return {
    keep: () => makeMonths(database),
    fillIds: async () => (await database.query(FILL_IDS, [FILL_ROWS]))[0]?.more ?? false,
    past: async (kept) =>
      (await database.query(PAST_MONTHS, [kept])).map(({ month, is_open: isOpen }) => ({ month, isOpen })),
    keepOutcomes: async (month, firstPage) =>
      (await database.query(KEEP_OUTCOMES, [month, firstPage, OUTCOME_PAGES]))[0]?.next_page ?? null,
    drop: async (month) => (await database.query(DROP_MONTH, [month]))[0]?.outcome ?? "used",
  };
}

/** Makes the partitions of the current month and of the next ones. */
export async function makeMonths(database: Queryable): Promise<void> {
  await database.query(MAKE_MONTHS, [MONTHS_AHEAD]);
}
