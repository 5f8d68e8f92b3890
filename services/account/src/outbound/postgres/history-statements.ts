/**
 * SQL that writes the history; every statement handles many rows. A rebuild writes the same rows to
 * staged tables, so statements exist for both sets of tables.
 */
import { type Statement, statement } from "@kapi/postgres";

import { IN_LOCK_ORDER } from "./account-row.ts";

/** `live` is shown to readers; `staged` is used by a rebuild. */
export type HistoryTables = "live" | "staged";

/** A locked row of `accounts`, as far as booking needs it. */
export interface AccountStatusRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly status: string;
  /** Number of published account events; 0 before `account.created`. */
  readonly fact_sequence: number;
}

/**
 * A row of `feeds`: how far an account is booked, and its number of records of each kind. An
 * account without booked events has no row, unless it is being deleted.
 */
export interface FeedRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly booked_sequence: number;
  readonly order_count: number;
  readonly position_count: number;
  readonly open_position_count: number;
  readonly deal_count: number;
  /** Sequence of the last booked event that finance publishes; 0 without one. */
  readonly ledger_sequence: number;
}

/** A stored order or position that appears again in the events to book. Its number `n` is kept. */
export interface KnownRow {
  readonly kind: "order" | "position";
  readonly server_id: string;
  readonly account_number: string;
  readonly id: string;
  readonly n: number;
  readonly status: string;
  /** In lots; null for an order. */
  readonly opened_volume: number | null;
}

/**
 * $1 servers, $2 account numbers. Waits for the locks in the order {@link IN_LOCK_ORDER}, as all
 * transactions with several accounts do, so that units cannot deadlock. Only the transaction that
 * holds the lock on an account's row changes the account's feed.
 */
export const LOCK_ACCOUNTS: Statement<AccountStatusRow> = statement(
  "account-lock-many",
  `select a.server_id, a.account_number, a.status, a.fact_sequence from accounts a
   join unnest($1::uuid[], $2::text[]) k (server_id, account_number) using (server_id, account_number)
   ${IN_LOCK_ORDER}`,
);

/** Arrays: server, account number, the sequence up to which events must be booked. */
export const NOTE_GAPS: Statement<never> = statement(
  "feed-note-gaps",
  `insert into feed_gaps as g (server_id, account_number, needed_sequence)
   select * from unnest($1::uuid[], $2::text[], $3::bigint[]) as n (server_id, account_number, needed_sequence)
   order by 1, 2
   on conflict (server_id, account_number) do update
     set needed_sequence = greatest(g.needed_sequence, excluded.needed_sequence)`,
);

interface HistoryStatements {
  /** $1 servers, $2 account numbers. */
  readonly selectFeeds: Statement<FeedRow>;
  /** $1-$3 orders: server, account number, id; $4-$6 positions. Returns the stored records. */
  readonly selectKnown: Statement<KnownRow>;
  /** $1-$8 feeds, $9-$19 orders, $20-$32 positions, $33-$47 deals; each in column order. */
  readonly write: Statement<never>;
}

/** The statements for one set of tables. */
export function historyStatements(tables: HistoryTables): HistoryStatements {
  const prefix = prefixOf(tables);
  return {
    selectFeeds: statement(
      `${prefix}feeds-select`,
      `select server_id, account_number, f.booked_sequence, f.order_count, f.position_count, f.open_position_count,
         f.deal_count, f.ledger_sequence
       from ${prefix}feeds f
       join unnest($1::uuid[], $2::text[]) k (server_id, account_number) using (server_id, account_number)`,
    ),
    selectKnown: statement(`${prefix}history-known`, knownText(tables)),
    write: statement(`${prefix}history-write`, writeText(prefix)),
  };
}

function prefixOf(tables: HistoryTables): string {
  return tables === "live" ? "" : "staged_";
}

/**
 * The opened volume of the position `t`, in lots. Rows of release 0.1.0 do not have this volume:
 * the volume of their order is used, or, without an order, the volume that the row has.
 */
export function openedVolume(tables: HistoryTables): string {
  return `coalesce(t.opened_volume, (select o.volume from ${prefixOf(tables)}orders o where o.server_id = t.server_id
     and o.account_number = t.account_number and o.id = t.order_id), t.volume)`;
}

function knownText(tables: HistoryTables): string {
  const prefix = prefixOf(tables);
  return `select 'order' as kind, o.server_id, o.account_number, o.id, o.n, o.status, null as opened_volume
     from ${prefix}orders o
     join unnest($1::uuid[], $2::text[], $3::text[]) k (server_id, account_number, id)
       using (server_id, account_number, id)
   union all
   select 'position', t.server_id, t.account_number, t.id, t.n, t.status, ${openedVolume(tables)}
     from ${prefix}positions t
     join unnest($4::uuid[], $5::text[], $6::text[]) k (server_id, account_number, id)
       using (server_id, account_number, id)`;
}

// A deal never changes and its event is booked once. A second row is a bug that the primary key
// rejects.
function writeText(prefix: string): string {
  return `with feeds_written as (
     insert into ${prefix}feeds
       (server_id, account_number, booked_sequence, order_count, position_count, open_position_count, deal_count,
        ledger_sequence)
     select * from unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                          $8::bigint[])
     on conflict (server_id, account_number) do update
       set booked_sequence = excluded.booked_sequence, order_count = excluded.order_count,
           position_count = excluded.position_count, open_position_count = excluded.open_position_count,
           deal_count = excluded.deal_count, ledger_sequence = excluded.ledger_sequence
   ), orders_written as (
     insert into ${prefix}orders
       (server_id, account_number, id, n, symbol, side, order_type, volume, status, created_at, executed_at)
     select * from unnest($9::uuid[], $10::text[], $11::text[], $12::bigint[], $13::text[], $14::text[], $15::text[],
                          $16::float8[], $17::text[], $18::timestamptz[], $19::timestamptz[])
     on conflict (server_id, account_number, id) do update
       set volume = excluded.volume, status = excluded.status, executed_at = excluded.executed_at
   ), positions_written as (
     insert into ${prefix}positions
       (server_id, account_number, id, n, order_id, symbol, side, volume, open_price, status, opened_at, closed_at,
        opened_volume)
     select * from unnest($20::uuid[], $21::text[], $22::text[], $23::bigint[], $24::text[], $25::text[], $26::text[],
                          $27::float8[], $28::float8[], $29::text[], $30::timestamptz[], $31::timestamptz[],
                          $32::float8[])
     on conflict (server_id, account_number, id) do update
       set volume = excluded.volume, open_price = excluded.open_price, status = excluded.status,
           closed_at = excluded.closed_at, opened_volume = excluded.opened_volume
   )
   insert into ${prefix}deals
     (server_id, account_number, id, n, order_id, position_id, symbol, side, kind, volume, price, commission_minor,
      realized_pnl_minor, swap_minor, executed_at)
   select * from unnest($33::uuid[], $34::text[], $35::text[], $36::bigint[], $37::text[], $38::text[], $39::text[],
                        $40::text[], $41::text[], $42::float8[], $43::float8[], $44::bigint[], $45::bigint[],
                        $46::bigint[], $47::timestamptz[])`;
}
