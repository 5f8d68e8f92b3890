/** SQL of the digests of transactions. Days as text, `YYYY-MM-DD`. */
import { type Statement, statement } from "@kapi/postgres";

import { COLUMNS, type TransactionRow } from "./read-statements.ts";

/** An account, and how far its transactions are settled before the day to compute. */
export interface DigestAccountRow {
  readonly account_number: string;
  readonly currency: "USD" | "NGN";
  readonly balance_minor: number;
  readonly transaction_sequence: number;
  readonly settled_sequence: number;
  readonly opened_at: Date | null;
  readonly deleted_at: Date | null;
}

/** A row of `transaction_digests`. Money in minor units of the account's currency. */
export interface TransactionDigestRow {
  readonly account_number: string;
  readonly currency: "USD" | "NGN";
  readonly transaction_count: number;
  readonly amount_minor: number;
  /** In hex. */
  readonly hash: string;
  readonly closing_balance_minor: number;
  readonly revision: number;
  readonly created_at: Date;
  /** Null for revision 1. A digest that was added for a late record begins with revision 2. */
  readonly revised_at: Date | null;
}

const ACCOUNT = `a.account_number, a.currency, a.balance_minor, a.transaction_sequence, a.opened_at, d.deleted_at,
     coalesce(p.settled_sequence, 0) as settled_sequence
   from ledger_accounts a
   left join deleted_accounts d on d.server_id = a.server_id and d.account_number = a.account_number
   left join transaction_digests p on p.server_id = a.server_id and p.day = $2::date - 1
     and p.account_number = a.account_number`;

/**
 * $1 server, $2 day, $3 account number to begin after, $4 limit. Without accounts that were deleted
 * before the day.
 */
export const NEXT_ACCOUNTS: Statement<DigestAccountRow> = statement(
  "finance_digest_next_accounts",
  `select ${ACCOUNT} where a.server_id = $1 and a.account_number > $3
     and (d.deleted_at is null or d.deleted_at at time zone 'UTC' >= $2::date)
   order by a.account_number limit $4`,
);

/** $1 server, $2 day, $3 account number. */
export const DIGEST_ACCOUNT: Statement<DigestAccountRow> = statement(
  "finance_digest_account",
  `select ${ACCOUNT} where a.server_id = $1 and a.account_number = $3`,
);

/**
 * $1 server, $2 account numbers, $3 sequences to read after, $4 sequences to read up to. The rows
 * never change, so several of these reads agree with each other.
 */
export const TRANSACTIONS_BETWEEN: Statement<Omit<TransactionRow, "currency">> = statement(
  "finance_digest_transactions",
  `select t.* from unnest($2::text[], $3::bigint[], $4::bigint[]) k (account_number, after, through)
   cross join lateral (
     select ${COLUMNS} from transactions p where p.server_id = $1 and p.account_number = k.account_number
       and p.sequence > k.after and p.sequence <= k.through
   ) t`,
);

/** $1 server, $2 account number, $3 days. Returns the days of which the account has a digest. */
export const DAYS_WITH_DIGEST: Statement<{ day: string }> = statement(
  "finance_digest_days",
  `select k.day::text as day from unnest($3::date[]) k (day)
   where exists (select from transaction_digests d
     where d.server_id = $1 and d.day = k.day and d.account_number = $2)`,
);

/**
 * $1 server, $2 now; arrays: $3 day, $4 account number, $5 currency, $6 count, $7 amount, $8 hash,
 * $9 closing balance, $10 settled sequence, $11 the revision that a new digest gets. A digest whose
 * content differs gets the next revision. Its settled sequence stays: late records have higher
 * sequences. A digest with equal content stays as it is.
 */
export const WRITE_DIGESTS: Statement<{ day: string; is_new: boolean }> = statement(
  "finance_write_digests",
  `insert into transaction_digests as d
     (server_id, day, account_number, currency, transaction_count, amount_minor, hash, closing_balance_minor,
      settled_sequence, revision, created_at, revised_at)
   select $1::uuid, n.day, n.account_number, n.currency, n.transaction_count, n.amount_minor, decode(n.hash, 'hex'),
     n.closing_balance_minor, n.settled_sequence, n.revision, $2::timestamptz,
     case when n.revision > 1 then $2::timestamptz end
   from unnest($3::date[], $4::text[], $5::text[], $6::integer[], $7::bigint[], $8::text[], $9::bigint[],
               $10::bigint[], $11::integer[])
     as n (day, account_number, currency, transaction_count, amount_minor, hash, closing_balance_minor,
           settled_sequence, revision)
   on conflict (server_id, day, account_number) do update
     set transaction_count = excluded.transaction_count, amount_minor = excluded.amount_minor, hash = excluded.hash,
         closing_balance_minor = excluded.closing_balance_minor, revision = d.revision + 1,
         revised_at = excluded.created_at
     where (d.transaction_count, d.amount_minor, d.hash, d.closing_balance_minor)
       <> (excluded.transaction_count, excluded.amount_minor, excluded.hash, excluded.closing_balance_minor)
   returning d.day::text as day, d.xmax = 0 as is_new`,
);

/** $1 server; arrays: $2 day, $3 number of new digests. */
export const COUNT_DIGESTS: Statement<never> = statement(
  "finance_count_digests",
  `insert into transaction_digest_counts as c (server_id, day, digests)
   select $1::uuid, n.day, n.digests from unnest($2::date[], $3::bigint[]) n (day, digests)
   on conflict (server_id, day) do update set digests = c.digests + excluded.digests`,
);

/** $1 server, $2 first day that is kept, $3 limit. */
export const DELETE_DIGESTS: Statement<{ deleted: number }> = statement(
  "finance_delete_digests",
  `with gone as (
     delete from transaction_digests where (server_id, day, account_number) in (
       select server_id, day, account_number from transaction_digests where server_id = $1 and day < $2::date
       order by day, account_number limit $3
     ) returning 1
   ), counts as (
     delete from transaction_digest_counts where server_id = $1 and day < $2::date
   )
   select count(*) as deleted from gone`,
);

/** $1 server, $2 day, $3 offset, $4 limit, $5 only account numbers after this one, or null. */
export const DIGESTS_PAGE: Statement<TransactionDigestRow> = statement(
  "finance_digests_page",
  `select account_number, currency, transaction_count, amount_minor, encode(hash, 'hex') as hash,
     closing_balance_minor, revision, created_at, revised_at
   from transaction_digests where server_id = $1 and day = $2::date and account_number > coalesce($5::text, '')
   order by account_number offset $3::bigint limit $4`,
);

/** $1 server, $2 day. */
export const DIGEST_COUNT: Statement<{ digests: number }> = statement(
  "finance_digest_count",
  "select digests from transaction_digest_counts where server_id = $1 and day = $2::date",
);
