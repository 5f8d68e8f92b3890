/**
 * Reads the history. Records are numbered without a gap, so a page is a range of numbers and the
 * total is the last number: page 400 costs as much as page 1. A filter reads at most all records of
 * the account. Each page is one statement and so a consistent snapshot.
 */
import { column } from "@kapi/commands";
import { accountKey, type ExportRecord, type ListPositionsQuery } from "@kapi/contracts";
import { type Database, type Statement, statement } from "@kapi/postgres";

import type {
  DealFilter,
  HistoryRange,
  HistoryReader,
  OrderFilter,
  PageRange,
  PositionFilter,
  RecordPage,
} from "../../domain/history-ports.ts";
import type { AccountName } from "../../domain/ports.ts";
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

// No row if there is no such account.
const ACCOUNT = `accounts a left join feeds f on f.server_id = a.server_id and f.account_number = a.account_number`;
const IS_ASKED = `a.server_id = $1 and a.account_number = $2 and a.status not in ('deleting', 'deleted')`;

// $1 server, $2 account number, $3 offset, $4 limit, $5 only numbers below, or null.
function pageOf(table: string, columns: string, count: string): string {
  return `select coalesce(f.${count}, 0) as total, r.* from ${ACCOUNT}
   left join lateral (
     select ${columns} from ${table} t
     where t.server_id = a.server_id and t.account_number = a.account_number and t.n <= least(f.${count} - $3::bigint, $5::bigint - 1)
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
// Few positions are open at a time; they have their own index.
export const OPEN_POSITIONS_PAGE: Statement<PageRow<PositionRow>> = statement(
  "positions-page-open",
  `select coalesce(f.open_position_count, 0) as total, r.* from ${ACCOUNT}
   left join lateral (
     select ${POSITION_COLUMNS} from positions t
     where t.server_id = a.server_id and t.account_number = a.account_number and t.status = 'open'
       and ($5::bigint is null or t.n < $5::bigint)
     order by t.n desc offset $3::bigint limit $4
   ) r on true
   where ${IS_ASKED} order by r.n desc`,
);
// The $3 newest positions are skipped. For each open one among them, one more closed position has
// to be skipped. So this reads only the page and the few open positions, at any offset.
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

/** A list of records, with the columns that its filters compare. */
interface FilteredList {
  readonly table: "orders" | "positions" | "deals";
  readonly columns: string;
  readonly time: string;
}

const ORDERS: FilteredList = { table: "orders", columns: ORDER_COLUMNS, time: "created_at" };
const POSITIONS_LIST: FilteredList = { table: "positions", columns: POSITION_COLUMNS, time: "opened_at" };
const DEALS: FilteredList = { table: "deals", columns: DEAL_COLUMNS, time: "executed_at" };

/** The columns of filters that compare for equality. */
const FILTER_COLUMNS = {
  symbol: "symbol",
  side: "side",
  status: "status",
  orderType: "order_type",
  kind: "kind",
  orderId: "order_id",
  positionId: "position_id",
} as const;

type Filter = OrderFilter & Omit<PositionFilter, "status"> & DealFilter;

/** The statement of a page with the given filters, and its values from $6 on. */
function filteredPage<Row>(
  { table, columns, time }: FilteredList,
  { from, to, ...fields }: Filter,
): { readonly statement: Statement<PageRow<Row>>; readonly values: readonly string[] } {
  const values: string[] = [];
  const parts: string[] = [];
  const conditions = ["t.server_id = a.server_id and t.account_number = a.account_number"];
  const add = (name: string, value: string | undefined, condition: (parameter: string) => string): void => {
    if (value === undefined) return;
    values.push(value);
    parts.push(name);
    conditions.push(condition(`$${values.length + 5}`));
  };
  add("from", from, (parameter) => `t.${time} >= ${parameter}::timestamptz`);
  add("to", to, (parameter) => `t.${time} < ${parameter}::timestamptz`);
  for (const [name, column] of Object.entries(FILTER_COLUMNS)) {
    add(name, fields[name as keyof typeof fields], (parameter) => `t.${column} = ${parameter}::text`);
  }
  const where = conditions.join(" and ");
  const text = `select (select count(*) from ${table} t where ${where}) as total, r.* from ${ACCOUNT}
   left join lateral (
     select ${columns} from ${table} t where ${where} and ($5::bigint is null or t.n < $5::bigint)
     order by t.n desc offset $3::bigint limit $4
   ) r on true
   where ${IS_ASKED} order by r.n desc`;
  return { statement: prepared(`${table}-page-of-${parts.join("-")}`, text), values };
}

/** Statements by name: one for each combination of filters that was used, at most 2^7 for a list. */
const preparedStatements = new Map<string, Statement<unknown>>();

function prepared<Row>(name: string, text: string): Statement<Row> {
  const known = preparedStatements.get(name) ?? statement<unknown>(name, text);
  preparedStatements.set(name, known);
  return known as Statement<Row>;
}

// $1 server, $2 account number, $3 from, $4 to, both inclusive, $5 limit.
function newestOf(table: string, columns: string, time: string): string {
  return `select ${columns} from ${table} t
   where t.server_id = $1 and t.account_number = $2 and t.${time} >= $3::timestamptz and t.${time} <= $4::timestamptz
   order by t.${time} desc, t.n desc limit $5`;
}

const NEWEST_ORDERS: Statement<OrderRow> = statement("orders-newest", newestOf("orders", ORDER_COLUMNS, "created_at"));
const NEWEST_POSITIONS: Statement<PositionRow> = statement(
  "positions-newest",
  newestOf("positions", POSITION_COLUMNS, "opened_at"),
);
const NEWEST_DEALS: Statement<DealRow> = statement("deals-newest", newestOf("deals", DEAL_COLUMNS, "executed_at"));

const BOOKED_SEQUENCE: Statement<{ booked_sequence: number }> = statement(
  "feed-booked-sequence",
  `select coalesce(f.booked_sequence, 0) as booked_sequence from ${ACCOUNT} where ${IS_ASKED}`,
);

// $1 servers, $2 account numbers.
const BOOKED_SEQUENCES: Statement<BookedRow> = statement(
  "feed-booked-sequences",
  `select a.server_id, a.account_number, coalesce(f.booked_sequence, 0) as booked_sequence from ${ACCOUNT}
   join unnest($1::uuid[], $2::text[]) k (server_id, account_number)
     on a.server_id = k.server_id and a.account_number = k.account_number
   where a.status not in ('deleting', 'deleted')`,
);

interface BookedRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly booked_sequence: number;
}

export function createHistoryReader(database: Database): HistoryReader {
  const bookedSequence = async ({ serverId, accountNumber }: AccountName): Promise<number | null> => {
    const [row] = await database.query(BOOKED_SEQUENCE, [serverId, accountNumber]);
    return row?.booked_sequence ?? null;
  };
  return {
    orders: (account, { from, to, symbol, side, status, orderType }, range) => {
      const filter = { from, to, symbol, side, status, orderType };
      const read = isEmpty(filter) ? { statement: ORDERS_PAGE, values: [] } : filteredPage<OrderRow>(ORDERS, filter);
      return page(database, read, account, range, orderFromRow);
    },
    positions: (account, { from, to, symbol, side, orderId, status }, range) => {
      const filter = { from, to, symbol, side, orderId };
      const read = isEmpty(filter)
        ? { statement: POSITIONS[status], values: [] }
        : filteredPage<PositionRow>(POSITIONS_LIST, { ...filter, status: status === "all" ? undefined : status });
      return page(database, read, account, range, positionFromRow);
    },
    deals: (account, { from, to, symbol, side, kind, orderId, positionId }, range) => {
      const filter = { from, to, symbol, side, kind, orderId, positionId };
      const read = isEmpty(filter) ? { statement: DEALS_PAGE, values: [] } : filteredPage<DealRow>(DEALS, filter);
      return page(database, read, account, range, dealFromRow);
    },
    newest: async (account, range) =>
      (await bookedSequence(account)) === null ? null : await newest(database, account, range),
    bookedSequence,
    bookedSequences: async (accounts) => {
      const rows = await database.query(BOOKED_SEQUENCES, [
        column(accounts.map(({ serverId }) => serverId)),
        column(accounts.map(({ accountNumber }) => accountNumber)),
      ]);
      const booked = new Map(rows.map((row) => [accountKey(row.server_id, row.account_number), row.booked_sequence]));
      return accounts.map(({ serverId, accountNumber }) => booked.get(accountKey(serverId, accountNumber)) ?? null);
    },
  };
}

/** Whether no filter is given. */
function isEmpty(filter: Filter): boolean {
  return Object.values(filter).every((value) => value === undefined);
}

/** Reads one row more than the page has: the row shows whether a record follows the page. */
async function page<Row extends { readonly n: number }, T>(
  database: Database,
  read: { readonly statement: Statement<PageRow<Row>>; readonly values: readonly string[] },
  { serverId, accountNumber }: AccountName,
  { offset, below, limit }: PageRange,
  fromRow: (row: Row) => T,
): Promise<RecordPage<T> | null> {
  const rows = await database.query(read.statement, [
    serverId,
    accountNumber,
    offset,
    limit + 1,
    below,
    ...read.values,
  ]);
  const [first] = rows;
  if (first === undefined) return null;
  const found = rows.flatMap((row) => (row.n === null ? [] : [row as Row]));
  const shown = found.slice(0, limit);
  return {
    records: shown.map(fromRow),
    total: first.total,
    last: found.length > limit ? (shown.at(-1)?.n ?? null) : null,
  };
}

async function newest(
  database: Database,
  { serverId, accountNumber }: AccountName,
  { from, to, limit }: HistoryRange,
): Promise<ExportRecord[]> {
  const values = [serverId, accountNumber, from ?? "-infinity", to ?? "infinity", limit];
  const [orders, positions, deals] = await Promise.all([
    database.query(NEWEST_ORDERS, values),
    database.query(NEWEST_POSITIONS, values),
    database.query(NEWEST_DEALS, values),
  ]);
  const records: { readonly at: string; readonly record: ExportRecord }[] = [
    ...orders.map((row) => ({ at: row.created_at, record: { kind: "order" as const, ...orderFromRow(row) } })),
    ...positions.map((row) => ({ at: row.opened_at, record: { kind: "position" as const, ...positionFromRow(row) } })),
    ...deals.map((row) => {
      const { kind: dealKind, ...deal } = dealFromRow(row);
      return { at: row.executed_at, record: { ...deal, kind: "deal" as const, dealKind } };
    }),
  ];
  // The texts have equal length, so they sort by time. The sort is stable, so records of one kind
  // with equal times keep the order of their numbers.
  records.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return records.slice(0, limit).map(({ record }) => record);
}
