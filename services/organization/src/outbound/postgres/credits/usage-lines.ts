import { actorFromText } from "@kapi/contracts";
import { type Queryable, type Statement, statement } from "@kapi/postgres";

import {
  type ListedUsageLine,
  MAX_COUNTED_USAGE,
  type UsageLines,
  type UsagePeriod,
  type UsageRange,
} from "../../../domain/credits/ports.ts";
import type { UsageDay } from "../../../domain/credits/usage-day.ts";
import type { UsageLine } from "../../../domain/credits/usage-line.ts";

interface UsageRow extends Omit<UsageLine, "createdBy" | "at"> {
  readonly createdBy: string | null;
  readonly at: Date;
  /** `at` with microseconds. */
  readonly listedAt: string;
  readonly chargeId: string;
  readonly leg: string;
}

/** How far back the reservation of a release is looked for: no command is open for longer. */
const MAX_RESERVED_DAYS = 62;
const IS_LINE = `credits > 0 and (leg in ('consume', 'refund', 'reserve') or action = 'release')`;

// The page is found by the indexes of the months alone. Then each entry of it is read from the
// month of its epoch. Entries of credit_legs count as without an epoch. The operation, request id
// and author of a release are in its reservation.
const pageText = (where: string): string => `with page as (
     select charge_id, leg, at, epoch from (
       select charge_id, leg, at, epoch from credit_entries where organization_id = $1 and ${IS_LINE}${where}
       union all
       select charge_id, leg, at, null::bigint as epoch from credit_legs where organization_id = $1 and ${IS_LINE}${where}
     ) as lines
     order by at desc, charge_id desc, leg desc
     limit $2 offset $3
   )
   select to_char(page.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "listedAt",
     page.charge_id as "chargeId", page.leg, line.leg as kind, line.credits, line.command_id as "commandId", page.at,
     coalesce(reserved.operation, line.operation) as operation,
     coalesce(reserved.x_request_id, line.x_request_id) as "requestId",
     coalesce(reserved.created_by, line.created_by) as "createdBy"
   from page
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
     ) as reserved on true
   order by page.at desc, page.charge_id desc, page.leg desc`;

/** $1 organization, $2 limit, $3 offset. */
export const SELECT_PAGE = statement<UsageRow>("usage_lines_select_page", pageText(""));

/** Statements by name: one for each combination of bounds that was used, at most 16. */
const preparedStatements = new Map<string, Statement<unknown>>();

/** Returns the statement with the given bounds; `text` gets the conditions on the columns of a line. */
function bounded<Row>(
  kind: string,
  { from, to, after = null }: UsagePeriod & { readonly after?: UsageRange["after"] },
  first: number,
  text: (where: string) => string,
): { readonly statement: Statement<Row>; readonly values: readonly string[] } {
  const values: string[] = [];
  const next = (value: string): string => `$${first + values.push(value) - 1}`;
  const names = [kind];
  let where = "";
  if (from !== undefined) {
    names.push("from");
    where += ` and at >= ${next(from)}::timestamptz`;
  }
  if (to !== undefined) {
    names.push("to");
    where += ` and at < ${next(to)}::timestamptz`;
  }
  if (after !== null) {
    const [at, chargeId, leg] = after;
    names.push("after");
    where += ` and (at, charge_id, leg) < (${next(at)}::timestamptz, ${next(chargeId)}::uuid, ${next(leg)}::text)`;
  }
  const name = names.join("_");
  const known = preparedStatements.get(name) ?? statement<unknown>(name, text(where));
  preparedStatements.set(name, known);
  return { statement: known as Statement<Row>, values };
}

const countText = (where: string): string => `select count(*) as total from (
     select from (
       select at from credit_entries where organization_id = $1 and ${IS_LINE}${where}
       union all
       select at from credit_legs where organization_id = $1 and ${IS_LINE}${where}
     ) as lines limit $2
   ) as counted`;
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

export function createUsageLines(database: Queryable): UsageLines {
  return {
    page: async (organizationId, { limit, offset, ...bounds }) => {
      const read = bounded<UsageRow>("usage_lines_select_page", bounds, 4, pageText);
      const rows = await database.query(read.statement, [organizationId, limit, offset, ...read.values]);
      return rows.map(lineFromRow);
    },
    total: async (organizationId, { from, to }) => {
      if (from === undefined && to === undefined) {
        return (await database.query(SELECT_TOTAL, [organizationId]))[0]?.total ?? 0;
      }
      const read = bounded<{ total: number }>("usage_lines_count", { from, to }, 3, countText);
      const rows = await database.query(read.statement, [organizationId, MAX_COUNTED_USAGE, ...read.values]);
      return rows[0]?.total ?? 0;
    },
    byDay: (organizationId, firstDay) => database.query(SELECT_DAYS, [organizationId, firstDay]),
  };
}

function lineFromRow({ listedAt, chargeId, leg, ...row }: UsageRow): ListedUsageLine {
  const line = { ...row, createdBy: actorFromText(row.createdBy), at: row.at.toISOString() };
  return { line, position: [listedAt, chargeId, leg] };
}
