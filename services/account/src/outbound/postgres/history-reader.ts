import { column } from "@kapi/commands";
import { accountKey, type ExportRecord, type AccountRef } from "@kapi/contracts";
import { type Database, type Statement, statement } from "@kapi/postgres";

import type { HistoryRange, HistoryReader } from "../../domain/history-ports.ts";
import { ACCOUNT, dealPage, IS_ASKED, orderPage, positionPage } from "./history-pages.ts";
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
import { openPositionsAt } from "./open-positions.ts";

// $1 server, $2 account number, $3 from, $4 to, both inclusive and with milliseconds, $5 limit.
// Times are stored with microseconds, so $4 means the whole millisecond.
function newestOf(table: string, columns: string, time: string): string {
  return `select ${columns} from ${table} t
   where t.server_id = $1 and t.account_number = $2 and t.${time} >= $3::timestamptz
     and t.${time} < $4::timestamptz + interval '1 millisecond'
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

/**
 * Reads the booked history, never the staged one of a rebuild. Each page is one statement, so its
 * records and its total are consistent.
 */
export function createHistoryReader(database: Database): HistoryReader {
  const bookedSequence = async ({ serverId, accountNumber }: AccountRef): Promise<number | null> => {
    const [row] = await database.query(BOOKED_SEQUENCE, [serverId, accountNumber]);
    return row?.booked_sequence ?? null;
  };
  return {
    orders: (account, filter, range) => orderPage(database, account, filter, range),
    positions: (account, filter, range) => positionPage(database, account, filter, range),
    deals: (account, filter, range) => dealPage(database, account, filter, range),
    newest: async (account, range) =>
      (await bookedSequence(account)) === null ? null : await newest(database, account, range),
    openAt: (account, at, limit) => openPositionsAt(database, account, at, limit),
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

async function newest(
  database: Database,
  { serverId, accountNumber }: AccountRef,
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
