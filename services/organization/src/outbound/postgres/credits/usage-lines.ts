import { actorFromText } from "@kapi/contracts";
import { type Database, instantText, type Statement, statement } from "@kapi/postgres";

import type { UsageFilter, UsageLines } from "../../../domain/credits/ports.ts";
import type { UsageDay } from "../../../domain/credits/usage-day.ts";
import type { UsageLine } from "../../../domain/credits/usage-line.ts";

interface UsageRow extends Omit<UsageLine, "createdBy" | "at"> {
  readonly createdBy: string | null;
  readonly at: Date;
  readonly chargeId: string;
  /** `at` with the precision of the database. */
  readonly listedAt: string;
}

/**
 * How many days before a release its reservation is looked for in `credit_entries`. If the
 * reservation is older, the line has the operation, author and request id of the release itself.
 */
const MAX_RESERVED_DAYS = 62;
/**
 * Timeout of a read that reads every line of its time range, in milliseconds: a read with filters,
 * or the total of a time range.
 */
const FILTERED_TIMEOUT_MS = 2_000;
const IS_LINE = `credits > 0 and (leg in ('consume', 'refund', 'reserve') or action = 'release')`;
/** The position before the first line. */
const LIST_START = ["infinity", "00000000-0000-0000-0000-000000000000", ""] as const;

/** $1 organization, $2 from (inclusive), $3 to (exclusive); null: unbounded. */
const IN_RANGE = `organization_id = $1 and ${IS_LINE} and at >= coalesce($2::timestamptz, '-infinity')
         and at < coalesce($3::timestamptz, 'infinity')`;
/**
 * The lines of the time range that meet `condition`; those of credit_legs have no epoch. `end` is
 * appended to the select of each of the two tables.
 */
function linesOf(condition: string, end = ""): string {
  return `
       (select charge_id, leg, at, epoch from credit_entries where ${IN_RANGE} and ${condition} ${end})
       union all
       (select charge_id, leg, at, null::bigint as epoch from credit_legs where ${IN_RANGE} and ${condition} ${end})`;
}
/**
 * Joins each row of `page` with its whole entry, from the month of its epoch, as `line`. Joins a
 * release also with its reservation, as `reserved`, which has the operation, request id and author.
 */
const WITH_ENTRY = `
     cross join lateral (
       select leg, credits, command_id, operation, x_request_id, created_by from credit_entries as entry
       where entry.epoch = page.epoch and entry.charge_id = page.charge_id and entry.leg = page.leg
       union all
       select leg, credits, command_id, operation, x_request_id, created_by from credit_legs as entry
       where page.epoch is null and entry.charge_id = page.charge_id and entry.leg = page.leg
     ) as line
     left join lateral (
       select operation, x_request_id, created_by from credit_entries as entry
       where page.leg = 'settle' and entry.epoch <= page.epoch
         and entry.epoch > page.epoch - ${MAX_RESERVED_DAYS} * 86400
         and entry.charge_id = page.charge_id and entry.leg = 'reserve'
       union all
       select operation, x_request_id, created_by from credit_legs as entry
       where page.leg = 'settle' and entry.charge_id = page.charge_id and entry.leg = 'reserve'
       limit 1
     ) as reserved on true`;
const COLUMNS = `line.leg as kind, line.credits, line.command_id as "commandId", page.at,
     coalesce(reserved.operation, line.operation) as operation,
     coalesce(reserved.x_request_id, line.x_request_id) as "requestId",
     coalesce(reserved.created_by, line.created_by) as "createdBy",
     page.charge_id as "chargeId", ${instantText("page.at")} as "listedAt"`;
/** After the line with the key $4 to $6. */
const AFTER = "(at, charge_id, leg) < ($4::timestamptz, $5::uuid, $6::text)";
const NEWEST_FIRST = "page.at desc, page.charge_id desc, page.leg desc";

/**
 * $1 to $3 as {@link IN_RANGE}, $4 to $6 the key of the line before the page, $7 limit, $8 offset.
 * The newest lines of each table are read in the order of its index, from the index alone. An order
 * of both tables together would read and sort every line of the organization.
 */
export const SELECT_PAGE = statement<UsageRow>(
  "usage_lines_select_page",
  `with page as (
     select charge_id, leg, at, epoch from (${linesOf(
       AFTER,
       "order by at desc, charge_id desc, leg desc limit $7::bigint + $8::bigint",
     )}
     ) as page
     order by ${NEWEST_FIRST}
     limit $7 offset $8
   )
   select ${COLUMNS} from page ${WITH_ENTRY}
   order by ${NEWEST_FIRST}`,
);
const COUNT_RANGE = statement<{ total: number }>(
  "usage_lines_count_range",
  `select count(*) as total from (${linesOf("true")}
   ) as page`,
);

/** The conditions on `operation`, `xRequestId` and `commandId`: parameters $next to $next + 2. */
function matches(next: number): string {
  return `($${next}::text is null or coalesce(reserved.operation, line.operation) = $${next})
     and ($${next + 1}::text is null or coalesce(reserved.x_request_id, line.x_request_id) = $${next + 1})
     and ($${next + 2}::uuid is null or line.command_id = $${next + 2})`;
}
/**
 * The part of {@link matches} that needs no reservation: for a release only the condition on the
 * command.
 */
function mayMatch(next: number): string {
  return `($${next + 2}::uuid is null or command_id = $${next + 2}) and (leg = 'settle'
         or ($${next}::text is null or operation = $${next})
         and ($${next + 1}::text is null or x_request_id = $${next + 1}))`;
}
/** {@link SELECT_PAGE} with the filters $9 to $11. */
const SELECT_FILTERED = statement<UsageRow>(
  "usage_lines_select_filtered",
  `select ${COLUMNS} from (${linesOf(`${AFTER} and ${mayMatch(9)}`)}
   ) as page ${WITH_ENTRY}
   where ${matches(9)}
   order by ${NEWEST_FIRST}
   limit $7 offset $8`,
);
/** {@link COUNT_RANGE} with the filters $4 to $6. */
const COUNT_FILTERED = statement<{ total: number }>(
  "usage_lines_count_filtered",
  `select count(*) as total from (${linesOf(mayMatch(4))}
   ) as page ${WITH_ENTRY}
   where ${matches(4)}`,
);
const SET_TIMEOUT = statement<unknown>(
  "usage_lines_set_timeout",
  `select set_config('statement_timeout', '${FILTERED_TIMEOUT_MS}', true)`,
);
const SELECT_TOTAL = statement<{ total: number }>(
  "usage_lines_select_total",
  `select kept.usage_lines - coalesce(closed.usage_lines, 0) as total
   from wallets as kept cross join credit_ledger
     left join wallet_closings as closed
       on closed.month = dropped_through and closed.organization_id = kept.organization_id
   where kept.organization_id = $1`,
);

const SELECT_DAYS = statement<UsageDay>(
  "usage_lines_select_days",
  `select organization_id as "organizationId", to_char(day, 'YYYY-MM-DD') as day, operation, requests, credits
   from usage_days where organization_id = $1 and day >= $2::date and (requests <> 0 or credits <> 0)`,
);

/** The list of usage in PostgreSQL. */
export function createUsageLines(database: Database): UsageLines {
  return {
    page: async (organizationId, filter, range) => {
      const { from = null, to = null } = filter;
      const inRange = [organizationId, from, to];
      const values = [...inRange, ...(range.after ?? LIST_START), range.limit, range.offset];
      const rows = isFiltered(filter)
        ? await readFiltered(database, SELECT_FILTERED, [...values, ...filtersOf(filter)])
        : await database.query(SELECT_PAGE, values);
      return rows.map((row) => ({ place: [row.listedAt, row.chargeId, row.kind], line: lineFromRow(row) }));
    },
    total: async (organizationId, filter) => {
      const { from = null, to = null } = filter;
      const inRange = [organizationId, from, to];
      const [counted] = isFiltered(filter)
        ? await readFiltered(database, COUNT_FILTERED, [...inRange, ...filtersOf(filter)])
        : from === null && to === null
          ? await database.query(SELECT_TOTAL, [organizationId])
          : await readFiltered(database, COUNT_RANGE, inRange);
      return counted?.total ?? 0;
    },
    byDay: (organizationId, firstDay) => database.query(SELECT_DAYS, [organizationId, firstDay]),
  };
}

function isFiltered(filter: UsageFilter): boolean {
  return filtersOf(filter).some((value) => value !== null);
}

function filtersOf({ operation, xRequestId, commandId }: UsageFilter): (string | null)[] {
  return [operation ?? null, xRequestId ?? null, commandId ?? null];
}

/** Reads within {@link FILTERED_TIMEOUT_MS}. A timeout rejects with a transient error. */
function readFiltered<Row>(database: Database, wanted: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
  return database.transaction((tx) => {
    tx.execute(SET_TIMEOUT, []);
    return tx.query(wanted, values);
  });
}

function lineFromRow({ chargeId: _charge, listedAt: _listed, ...row }: UsageRow): UsageLine {
  return { ...row, createdBy: actorFromText(row.createdBy), at: row.at.toISOString() };
}
