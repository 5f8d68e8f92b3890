import { actorFromText } from "@kapi/contracts";
import { type Queryable, statement } from "@kapi/postgres";

import type { UsageLines } from "../../../domain/credits/ports.ts";
import type { UsageDay } from "../../../domain/credits/usage-day.ts";
import type { UsageLine } from "../../../domain/credits/usage-line.ts";

interface UsageRow extends Omit<UsageLine, "createdBy" | "at"> {
  readonly createdBy: string | null;
  readonly at: Date;
}

/** How far back the reservation of a release is looked for: no command is open for longer. */
const MAX_RESERVED_DAYS = 62;
const IS_LINE = `credits > 0 and (leg in ('consume', 'refund', 'reserve') or action = 'release')`;

// The page is found by the indexes of the months alone. Then each entry of it is read from the
// month of its epoch. Entries of credit_legs count as without an epoch. The operation, request id
// and author of a release are in its reservation.
export const SELECT_PAGE = statement<UsageRow>(
  "usage_lines_select_page",
  `with page as (
     select charge_id, leg, at, epoch from (
       select charge_id, leg, at, epoch from credit_entries where organization_id = $1 and ${IS_LINE}
       union all
       select charge_id, leg, at, null::bigint as epoch from credit_legs where organization_id = $1 and ${IS_LINE}
     ) as lines
     order by at desc, charge_id desc, leg desc
     limit $2 offset $3
   )
   select line.leg as kind, line.credits, line.command_id as "commandId", page.at,
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
   order by page.at desc, page.charge_id desc, page.leg desc`,
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

export function createUsageLines(database: Queryable): UsageLines {
  return {
    page: async (organizationId, limit, offset) =>
      (await database.query(SELECT_PAGE, [organizationId, limit, offset])).map(lineFromRow),
    total: async (organizationId) => (await database.query(SELECT_TOTAL, [organizationId]))[0]?.total ?? 0,
    byDay: (organizationId, firstDay) => database.query(SELECT_DAYS, [organizationId, firstDay]),
  };
}

function lineFromRow(row: UsageRow): UsageLine {
  return { ...row, createdBy: actorFromText(row.createdBy), at: row.at.toISOString() };
}
