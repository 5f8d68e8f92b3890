/** SQL to read the ledger. */
import type { TransactionType } from "@kapi/contracts";
import { type Statement, statement } from "@kapi/postgres";

/** A row of `transactions` with its account's currency. Money in minor units. */
export interface TransactionRow {
  readonly id: string;
  readonly account_number: string;
  readonly sequence: number;
  readonly type: TransactionType;
  readonly amount_minor: number;
  readonly currency: "USD" | "NGN";
  readonly balance_before_minor: number;
  readonly balance_after_minor: number;
  readonly description: string | null;
  readonly request_id: string | null;
  readonly command_id: string | null;
  readonly order_id: string | null;
  readonly position_id: string | null;
  readonly deal_id: string | null;
  readonly reversal_of: string | null;
  readonly created_by: string | null;
  readonly recorded_at: Date;
  readonly created_at: Date;
}

/**
 * Whether the ledger knows an account. The statements that select these columns return a row for an
 * unknown account, too.
 */
export interface StandingRow {
  readonly deleted: boolean;
  /** Null if the ledger has never seen the account. */
  readonly last_sequence: number | null;
}

/** A row of a page. An empty page is one row, whose `id` is null. */
export type PageRow = StandingRow & { readonly total: number | null } & (TransactionRow | { readonly id: null });

/** The columns of {@link TransactionRow} in `transactions`. */
export const COLUMNS = `id, account_number, sequence, type, amount_minor, balance_before_minor, balance_after_minor,
   description, request_id, command_id, order_id, position_id, deal_id, reversal_of, recorded_at, created_at,
   created_by`;
/** {@link COLUMNS} of the table `t`. */
const ROW = COLUMNS.replaceAll(/\w+/g, "t.$&");
const DELETED = `exists (select from deleted_accounts d
     where d.server_id = k.server_id and d.account_number = k.account_number) as deleted`;

/**
 * $1 server, $2 account number, $3 offset, $4 limit, $5 only sequences below this one, or null. The
 * offset is 0 if $5 is not null. Sequences have no gap: the last one is the number of rows, and a
 * page is a range of the unique index on (server, account, sequence). One statement, so that rows
 * and total are consistent. An empty page has one row, without a transaction. `least` ignores null.
 */
export const TRANSACTIONS_PAGE: Statement<PageRow> = statement(
  "finance_transactions_page",
  `select ${DELETED}, a.last_sequence, a.transaction_sequence as total, a.currency, ${ROW}
   from (select $1::uuid as server_id, $2::text as account_number) k
   left join ledger_accounts a on a.server_id = k.server_id and a.account_number = k.account_number
   left join lateral (
     select ${COLUMNS} from transactions p where p.server_id = a.server_id and p.account_number = a.account_number
       and p.sequence <= least(a.transaction_sequence - $3::bigint, $5::bigint - 1)
     order by p.sequence desc limit $4
   ) t on true
   order by t.sequence desc`,
);

/** $6 from (inclusive), $7 to (exclusive), $8 to $13 values of the columns; null: no filter. */
const MATCHES = `p.server_id = a.server_id and p.account_number = a.account_number
       and p.recorded_at >= coalesce($6::timestamptz, '-infinity')
       and p.recorded_at < coalesce($7::timestamptz, 'infinity')
       and ($8::text is null or p.type = $8) and ($9::text is null or p.order_id = $9)
       and ($10::text is null or p.position_id = $10) and ($11::text is null or p.deal_id = $11)
       and ($12::uuid is null or p.command_id = $12) and ($13::text is null or p.request_id = $13)`;

/**
 * {@link TRANSACTIONS_PAGE} with filters, see {@link MATCHES}. It reads every row of the account,
 * as {@link NEWEST_TRANSACTIONS} does: an index for each filter would make bookings slower.
 */
export const FILTERED_TRANSACTIONS: Statement<PageRow> = statement(
  "finance_filtered_transactions_page",
  `select ${DELETED}, a.last_sequence, counted.total, a.currency, ${ROW}
   from (select $1::uuid as server_id, $2::text as account_number) k
   left join ledger_accounts a on a.server_id = k.server_id and a.account_number = k.account_number
   left join lateral (select count(*) as total from transactions p where ${MATCHES}) counted on true
   left join lateral (
     select ${COLUMNS} from transactions p where ${MATCHES}
       and p.sequence <= least(a.transaction_sequence, $5::bigint - 1)
     order by p.sequence desc offset $3::bigint limit $4
   ) t on true
   order by t.sequence desc`,
);

/**
 * $1 server, $2 account number, $3 from, $4 to (null: unbounded), $5 limit. Times are stored with
 * microseconds, so $4, with milliseconds, means the whole millisecond. If a trading server's clock
 * was set back, times do not follow the sequence. So every row of the account is read. An index on
 * time would make each booking a quarter slower. A subquery reads the currency once for all rows.
 */
export const NEWEST_TRANSACTIONS: Statement<TransactionRow> = statement(
  "finance_newest_transactions",
  `select ${ROW},
     (select a.currency from ledger_accounts a where a.server_id = $1 and a.account_number = $2) as currency
   from transactions t
   where t.server_id = $1 and t.account_number = $2
     and t.recorded_at >= coalesce($3::timestamptz, '-infinity')
     and t.recorded_at < coalesce($4::timestamptz, 'infinity') + interval '1 millisecond'
   order by t.recorded_at desc, t.sequence desc limit $5`,
);

/** $1 servers, $2 id of the transaction. Finds no transaction of a deleted account. */
export const FIND_TRANSACTION: Statement<TransactionRow & { readonly server_id: string }> = statement(
  "finance_find_transaction",
  `select t.server_id, a.currency, ${ROW}
   from transactions t
   join ledger_accounts a on a.server_id = t.server_id and a.account_number = t.account_number
   where t.id = $2 and t.server_id = any($1::uuid[]) and not exists (
     select from deleted_accounts d where d.server_id = t.server_id and d.account_number = t.account_number
   )`,
);

/** $1 server, $2 account number. Always one row. */
export const BOOKED_SO_FAR: Statement<StandingRow> = statement(
  "finance_booked_so_far",
  `select ${DELETED}, a.last_sequence
   from (select $1::uuid as server_id, $2::text as account_number) k
   left join ledger_accounts a on a.server_id = k.server_id and a.account_number = k.account_number`,
);

/** The balance at a time, and the state of the account in the ledger. */
export type BalanceRow = StandingRow & {
  /** 0 before the first transaction; null only if a row of the ledger is missing. */
  readonly balance_minor: number | null;
};

/**
 * $1 server, $2 account number, $3 time. The balance after the last transaction up to the end of
 * the millisecond $3. Times normally follow the sequence, so a binary search over the sequences
 * finds this transaction: it reads 17 rows of 100,000. If the trading server's clock was set back,
 * several transactions may count as the last one up to $3. The result is then the balance after one
 * of them. Always one row.
 */
export const BALANCE_AT: Statement<BalanceRow> = statement(
  "finance_balance_at",
  `select ${DELETED}, a.last_sequence,
     case when a.transaction_sequence is null or s.sequence = 0 then 0 else t.balance_after_minor end as balance_minor
   from (select $1::uuid as server_id, $2::text as account_number) k
   left join ledger_accounts a on a.server_id = k.server_id and a.account_number = k.account_number
   left join lateral (
     with recursive halved (low, high) as (
       select 0::bigint, a.transaction_sequence
       union all
       select case when m.is_before then m.sequence else h.low end,
         case when m.is_before then h.high else m.sequence - 1 end
       from halved h
       cross join lateral (
         select p.sequence, p.recorded_at < $3::timestamptz + interval '1 millisecond' as is_before
         from transactions p
         where p.server_id = a.server_id and p.account_number = a.account_number
           and p.sequence = (h.low + h.high + 1) / 2
       ) m
       where h.low < h.high
     )
     select low as sequence from halved where low = high
   ) s on true
   left join transactions t on t.server_id = a.server_id and t.account_number = a.account_number
     and t.sequence = s.sequence`,
);

/** $1 server, $2 account number. */
export const MARK_DELETED: Statement<never> = statement(
  "finance_mark_deleted",
  `insert into deleted_accounts (server_id, account_number) values ($1, $2) on conflict do nothing`,
);

/**
 * $1 servers, $2 account numbers. Returns those of the accounts that have a row in the ledger or a
 * deletion mark.
 */
export const SEEN_ACCOUNTS: Statement<{ server_id: string; account_number: string }> = statement(
  "finance_seen_accounts",
  `select k.server_id, k.account_number from unnest($1::uuid[], $2::text[]) k (server_id, account_number)
   where exists (select from ledger_accounts a
       where a.server_id = k.server_id and a.account_number = k.account_number)
     or exists (select from deleted_accounts d
       where d.server_id = k.server_id and d.account_number = k.account_number)`,
);
