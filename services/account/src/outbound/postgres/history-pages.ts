/**
 * Pages of an account's orders, positions and deals. Records are numbered without a gap. So a page
 * without filters is a range of numbers, and the total is the highest number: page 400 costs as
 * much as page 1. A filter other than the status of positions reads all records of the account.
 */
import type { Deal, ListPositionsQuery, Order, Position, AccountRef } from "@kapi/contracts";
import { type Database, type Statement, statement } from "@kapi/postgres";

import type { DealFilter, OrderFilter, PageRange, PositionFilter, RecordPage } from "../../domain/history-ports.ts";
import {
  DEAL_COLUMNS,
  dealFromRow,
  type DealRow,
  ORDER_COLUMNS,
  orderFromRow,
  type OrderRow,
  POSITION_COLUMNS,
  positionFromRow,
  type PositionRow,
} from "./history-rows.ts";

/** A row of a page. An empty page has one row, with all fields null except the total. */
type PageRow<Row> = { readonly total: number } & (Row | { readonly n: null });

/** Accounts and how far they are booked. No row if there is no such account. */
export const ACCOUNT = `accounts a left join feeds f on f.server_id = a.server_id and f.account_number = a.account_number`;
/** Selects the account `$2` of the server `$1`, unless it is deleting or deleted. */
export const IS_ASKED = `a.server_id = $1 and a.account_number = $2 and a.status not in ('deleting', 'deleted')`;

// $1 server, $2 account number, $3 offset, $4 limit, $5 only numbers below this one, or null. If $5
// is given, $3 is 0. `least` ignores null.
function pageOf(table: string, columns: string, count: string): string {
  return `select coalesce(f.${count}, 0) as total, r.* from ${ACCOUNT}
   left join lateral (
     select ${columns} from ${table} t
     where t.server_id = a.server_id and t.account_number = a.account_number
       and t.n <= least(f.${count} - $3::bigint, $5::bigint - 1)
     order by t.n desc limit $4
   ) r on true
   where ${IS_ASKED} order by r.n desc`;
}

export const ORDERS_PAGE: Statement<PageRow<OrderRow>> = statement(
  "orders-page",
  pageOf("orders", ORDER_COLUMNS, "order_count"),
);
export const DEALS_PAGE: Statement<PageRow<DealRow>> = statement(
  "deals-page",
  pageOf("deals", DEAL_COLUMNS, "deal_count"),
);
const ALL_POSITIONS: Statement<PageRow<PositionRow>> = statement(
  "positions-page",
  pageOf("positions", POSITION_COLUMNS, "position_count"),
);
// Few positions are open at a time; the open ones have their own index.
export const OPEN_POSITIONS_PAGE: Statement<PageRow<PositionRow>> = statement(
  "positions-page-open",
  `select coalesce(f.open_position_count, 0) as total, r.* from ${ACCOUNT}
   left join lateral (
     select ${POSITION_COLUMNS} from positions t
     where t.server_id = a.server_id and t.account_number = a.account_number and t.status = 'open'
       and t.n <= least(f.position_count, $5::bigint - 1)
     order by t.n desc offset $3::bigint limit $4
   ) r on true
   where ${IS_ASKED} order by r.n desc`,
);
// Skips the $3 newest positions. For each open position among these, it skips one more closed
// position. So it reads only the page and the few open positions, at any offset.
const CLOSED_POSITIONS: Statement<PageRow<PositionRow>> = statement(
  "positions-page-closed",
  `select coalesce(f.position_count - f.open_position_count, 0) as total, r.* from ${ACCOUNT}
   left join lateral (
     select count(*) as above from positions o
     where o.server_id = a.server_id and o.account_number = a.account_number and o.status = 'open'
       and o.n > f.position_count - $3::bigint
   ) opened on true
   left join lateral (
     select ${POSITION_COLUMNS} from positions t
     where t.server_id = a.server_id and t.account_number = a.account_number and t.status = 'closed'
       and t.n <= least(f.position_count - $3::bigint, $5::bigint - 1)
     order by t.n desc offset opened.above limit $4
   ) r on true
   where ${IS_ASKED} order by r.n desc`,
);
const POSITIONS: Readonly<Record<ListPositionsQuery["status"], Statement<PageRow<PositionRow>>>> = {
  all: ALL_POSITIONS,
  open: OPEN_POSITIONS_PAGE,
  closed: CLOSED_POSITIONS,
};

// $1 to $5 as in `pageOf`, $6 from and $7 to of the column `time`, then one value for each of
// `fields`; null: no filter.
function filteredPageOf(table: string, columns: string, time: string, fields: readonly string[]): string {
  const matches = [
    "t.server_id = a.server_id and t.account_number = a.account_number",
    `t.${time} >= coalesce($6::timestamptz, '-infinity') and t.${time} < coalesce($7::timestamptz, 'infinity')`,
    ...fields.map((field, index) => `($${index + 8}::text is null or t.${field} = $${index + 8})`),
  ].join(" and ");
  return `select counted.total, r.* from ${ACCOUNT}
   left join lateral (select count(*) as total from ${table} t where ${matches}) counted on true
   left join lateral (
     select ${columns} from ${table} t
     where ${matches} and t.n <= least(f.${table.slice(0, -1)}_count, $5::bigint - 1)
     order by t.n desc offset $3::bigint limit $4
   ) r on true
   where ${IS_ASKED} order by r.n desc`;
}

export const FILTERED_ORDERS: Statement<PageRow<OrderRow>> = statement(
  "orders-page-filtered",
  filteredPageOf("orders", ORDER_COLUMNS, "created_at", ["symbol", "side", "status", "order_type"]),
);
export const FILTERED_POSITIONS: Statement<PageRow<PositionRow>> = statement(
  "positions-page-filtered",
  filteredPageOf("positions", POSITION_COLUMNS, "opened_at", ["symbol", "side", "order_id", "status"]),
);
export const FILTERED_DEALS: Statement<PageRow<DealRow>> = statement(
  "deals-page-filtered",
  filteredPageOf("deals", DEAL_COLUMNS, "executed_at", ["symbol", "side", "kind", "order_id", "position_id"]),
);

/**
 * A page of an account's orders, newest first, and the number of all matching orders. `from`
 * (inclusive) and `to` (exclusive) filter by the time of creation. With a filter, all orders of the
 * account are read and counted. Null if the account does not exist, or is deleting or deleted.
 */
export function orderPage(
  database: Database,
  account: AccountRef,
  { from, to, symbol, side, status, orderType }: OrderFilter,
  range: PageRange,
): Promise<RecordPage<Order> | null> {
  const filters = [from, to, symbol, side, status, orderType];
  const read = { all: ORDERS_PAGE, filtered: FILTERED_ORDERS, fromRow: orderFromRow };
  return page(database, account, range, filters, read);
}

/**
 * A page of an account's positions, as {@link orderPage}; `from` and `to` filter by the time of
 * opening. If no other filter than `status` is given, only the page and few other rows are read.
 */
export function positionPage(
  database: Database,
  account: AccountRef,
  { status, from, to, symbol, side, orderId }: PositionFilter,
  range: PageRange,
): Promise<RecordPage<Position> | null> {
  const filters = [from, to, symbol, side, orderId];
  const isFiltered = filters.some((filter) => filter !== undefined);
  const read = { all: POSITIONS[status], filtered: FILTERED_POSITIONS, fromRow: positionFromRow };
  return page(database, account, range, isFiltered ? [...filters, status === "all" ? undefined : status] : [], read);
}

/** A page of an account's deals, as {@link orderPage}; `from` and `to` filter by execution time. */
export function dealPage(
  database: Database,
  account: AccountRef,
  { from, to, symbol, side, kind, orderId, positionId }: DealFilter,
  range: PageRange,
): Promise<RecordPage<Deal> | null> {
  const filters = [from, to, symbol, side, kind, orderId, positionId];
  const read = { all: DEALS_PAGE, filtered: FILTERED_DEALS, fromRow: dealFromRow };
  return page(database, account, range, filters, read);
}

/** How the pages of one kind of record are read. */
interface PageStatements<Row, T> {
  readonly all: Statement<PageRow<Row>>;
  /** Takes the filters as values after those of `all`. */
  readonly filtered: Statement<PageRow<Row>>;
  readonly fromRow: (row: Row) => T;
}

async function page<Row extends { readonly n: number }, T>(
  database: Database,
  { serverId, accountNumber }: AccountRef,
  { offset, limit, below }: PageRange,
  filters: readonly (string | undefined)[],
  { all, filtered, fromRow }: PageStatements<Row, T>,
): Promise<RecordPage<T> | null> {
  const range = [serverId, accountNumber, offset, limit, below];
  const rows = await (filters.every((filter) => filter === undefined)
    ? database.query(all, range)
    : database.query(filtered, [...range, ...filters.map((filter) => filter ?? null)]));
  const [first] = rows;
  if (first === undefined) return null;
  const records = rows.flatMap((row) => (row.n === null ? [] : [{ number: row.n, record: fromRow(row as Row) }]));
  return { records, total: first.total };
}
