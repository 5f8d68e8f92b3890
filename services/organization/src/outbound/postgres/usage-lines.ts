import { type Queryable, statement } from "@kapi/postgres";

import type { UsageLines } from "../../domain/ports.ts";
import type { UsageLeg } from "../../domain/usage-line.ts";
import { readUsageDays } from "./usage-days.ts";

interface UsageRow {
  readonly leg: UsageLeg["kind"];
  readonly credits: number;
  readonly operation: string;
  readonly x_request_id: string | null;
  readonly command_id: string | null;
  readonly at: Date;
}

// The page is found in the index alone, and only its own legs are read. The reservation of a release knows the request.
const selectPage = statement<UsageRow>(
  "usage_lines_select_page",
  `with page as (
     select charge_id, leg, at from credit_legs
     where organization_id = $1 and credits > 0 and (leg in ('consume', 'refund', 'reserve') or action = 'release')
     order by at desc, charge_id desc, leg desc
     limit $2 offset $3
   )
   select line.leg, line.credits, line.command_id, line.at, coalesce(reserved.operation, line.operation) as operation,
     coalesce(reserved.x_request_id, line.x_request_id) as x_request_id
   from page join credit_legs as line using (charge_id, leg)
     left join credit_legs as reserved
       on line.leg = 'settle' and reserved.charge_id = line.charge_id and reserved.leg = 'reserve'
   order by page.at desc, line.charge_id desc, line.leg desc`,
);
const selectTotal = statement<{ usage_lines: number }>(
  "usage_lines_select_total",
  `select usage_lines from wallets where organization_id = $1`,
);

/** The lines of the credit ledger in PostgreSQL. */
export function createUsageLines(database: Queryable): UsageLines {
  return {
    page: async (organizationId, limit, offset) =>
      (await database.query(selectPage, [organizationId, limit, offset])).map(legFromRow),
    total: async (organizationId) => (await database.query(selectTotal, [organizationId]))[0]?.usage_lines ?? 0,
    byDay: (organizationId, firstDay) => readUsageDays(database, organizationId, firstDay),
  };
}

function legFromRow(row: UsageRow): UsageLeg {
  return {
    kind: row.leg,
    credits: row.credits,
    operation: row.operation,
    requestId: row.x_request_id,
    commandId: row.command_id,
    at: row.at.toISOString(),
  };
}
