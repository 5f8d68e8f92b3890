/** The positions of an account that were open at a time (decisions, 4.12). */
import type { Currency, OpenPosition, AccountRef } from "@kapi/contracts";
import { type Database, type Statement, statement } from "@kapi/postgres";

import { volumesOf } from "../../domain/history.ts";
import type { OpenPositions } from "../../domain/history-ports.ts";
import { IS_ASKED } from "./history-pages.ts";
import { POSITION_COLUMNS, positionFromRow, type PositionRow } from "./history-rows.ts";

interface AccountRow {
  readonly created_at: Date;
  readonly currency: Currency;
  readonly position_count: number;
}
interface OpenPositionRow extends PositionRow {
  /** The lots that partial closes had closed at that time. */
  readonly closed_volume: number;
}

/** The columns of `positions` that are read. */
const STORED = `server_id, account_number, id, n, order_id, symbol, side, volume, opened_volume, open_price, status,
  opened_at, closed_at`;
// Stored times have microseconds. This is the last microsecond of the millisecond $3.
const AT = "($3::timestamptz + interval '999 microseconds')";

/**
 * $1 server, $2 account number, $3 time, $4 limit. If no position was open, there is one row with
 * null in every field of the position. If the account does not exist, or is deleting or deleted,
 * there is no row. Three indexes are used: of positions that are still open, of positions that were
 * closed later, and of partial closes.
 */
export const OPEN_AT: Statement<AccountRow & (OpenPositionRow | { readonly n: null })> = statement(
  "positions-open-at",
  `select r.*, a.created_at, a.currency, coalesce(r.open_count, 0) as position_count
   from accounts a
   left join lateral (
     select ${POSITION_COLUMNS}, open_count,
       (select coalesce(sum(d.volume), 0) from deals d
        where d.server_id = t.server_id and d.account_number = t.account_number and d.position_id = t.id
          and d.kind = 'partial_close' and d.executed_at <= ${AT}) as closed_volume
     from (
       select o.*, count(*) over () as open_count
       from (
         select ${STORED} from positions p
         where p.server_id = a.server_id and p.account_number = a.account_number and p.status = 'open'
           and p.opened_at <= ${AT}
         union all
         select ${STORED} from positions p
         where p.server_id = a.server_id and p.account_number = a.account_number and p.status = 'closed'
           and tstzrange(least(p.opened_at, p.closed_at), p.closed_at) @> ${AT}
       ) o
       order by o.n desc limit $4
     ) t
   ) r on true
   where ${IS_ASKED} order by r.n desc`,
);

/**
 * The newest `limit` positions that were open at the end of the millisecond `at`; null if the
 * account does not exist, or is deleting or deleted.
 */
export async function openPositionsAt(
  database: Database,
  { serverId, accountNumber }: AccountRef,
  at: string,
  limit: number,
): Promise<OpenPositions | null> {
  const rows = await database.query(OPEN_AT, [serverId, accountNumber, at, limit]);
  const [first] = rows;
  if (first === undefined) return null;
  return {
    createdAt: first.created_at.toISOString(),
    currency: first.currency,
    positionCount: first.position_count,
    positions: rows.flatMap((row) => (row.n === null ? [] : [openPosition(row as OpenPositionRow)])),
  };
}

function openPosition(row: OpenPositionRow): OpenPosition {
  const { id, orderId, symbol, side, openPrice, openedAt } = positionFromRow(row);
  const left = row.opened_volume - row.closed_volume;
  const volumes = volumesOf(row.opened_volume, { status: "open", volume: left });
  return { id, orderId, symbol, side, ...volumes, openPrice, openedAt };
}
