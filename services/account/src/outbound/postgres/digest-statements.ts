/** SQL of the digests of deals. Days as text, `YYYY-MM-DD`. */
import { type Statement, statement } from "@kapi/postgres";

import { DEAL_COLUMNS, type DealRow } from "./history-rows.ts";

/**
 * The account is not deleted, and its last digests are not made yet. They are made before its deals
 * are deleted.
 */
const HAS_DEALS = "a.status <> 'deleted' and a.deals_digested_at is null";

/** $1 server, $2 account number to begin after, $3 limit. */
export const NEXT_ACCOUNTS: Statement<{ account_number: string }> = statement(
  "digest-next-accounts",
  `select a.account_number from accounts a where a.server_id = $1 and a.account_number > $2 and ${HAS_DEALS}
   order by a.account_number limit $3`,
);

/** $1 server, $2 account number: the account, if {@link HAS_DEALS} is true of it. */
export const FIND_ACCOUNT: Statement<{ account_number: string }> = statement(
  "digest-find-account",
  `select a.account_number from accounts a where a.server_id = $1 and a.account_number = $2 and ${HAS_DEALS}`,
);

/** $1 server, $2 account number. */
export const MARK_DIGESTED: Statement<never> = statement(
  "digest-mark-account",
  `update accounts set deals_digested_at = clock_timestamp() where server_id = $1 and account_number = $2`,
);

/** $1 server, $2 account numbers, $3 from (inclusive), $4 to (exclusive): accounts with deals. */
export const COUNT_DEALS: Statement<{ account_number: string; deals: number }> = statement(
  "digest-count-deals",
  `select k.account_number, c.deals from unnest($2::text[]) k (account_number)
   cross join lateral (
     select count(*) as deals from deals t where t.server_id = $1 and t.account_number = k.account_number
       and t.executed_at >= $3::timestamptz and t.executed_at < $4::timestamptz
   ) c where c.deals > 0`,
);

/**
 * $1 server; arrays: $2 account number, $3 time and $4 number of the last deal that was read; $5 to
 * (exclusive), $6 maximum number of deals of each account. Oldest first.
 */
export const DEALS_BETWEEN: Statement<DealRow & { readonly account_number: string }> = statement(
  "digest-deals",
  `select k.account_number, r.* from unnest($2::text[], $3::timestamptz[], $4::bigint[]) k (account_number, at, n)
   cross join lateral (
     select ${DEAL_COLUMNS} from deals t where t.server_id = $1 and t.account_number = k.account_number
       and (t.executed_at, t.n) > (k.at, k.n) and t.executed_at < $5::timestamptz
     order by t.executed_at, t.n limit $6
   ) r`,
);

/**
 * $1 server, $2 now; arrays: $3 day, $4 account number, $5 count, $6 commission, $7 realized
 * profit, $8 swap, $9 hash, $10 the revision that a new digest gets. An existing digest with
 * another hash gets the next revision; with the same hash it stays as it is. A day without deals
 * gets no new digest.
 */
export const WRITE_DIGESTS: Statement<never> = statement(
  "digest-write",
  `insert into deal_digests as d
     (server_id, day, account_number, deal_count, commission_minor, realized_pnl_minor, swap_minor, hash, revision,
      created_at, revised_at)
   select $1::uuid, n.day, n.account_number, n.deal_count, n.commission_minor, n.realized_pnl_minor, n.swap_minor,
     decode(n.hash, 'hex'), n.revision, $2::timestamptz, case when n.revision > 1 then $2::timestamptz end
   from unnest($3::date[], $4::text[], $5::integer[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[],
               $10::integer[])
     as n (day, account_number, deal_count, commission_minor, realized_pnl_minor, swap_minor, hash, revision)
   where n.deal_count > 0 or exists (select from deal_digests e
     where e.server_id = $1 and e.day = n.day and e.account_number = n.account_number)
   on conflict (server_id, day, account_number) do update
     set deal_count = excluded.deal_count, commission_minor = excluded.commission_minor,
         realized_pnl_minor = excluded.realized_pnl_minor, swap_minor = excluded.swap_minor, hash = excluded.hash,
         revision = d.revision + 1, revised_at = excluded.created_at
     where d.hash <> excluded.hash`,
);

/** $1 server, $2 first day that is kept, $3 limit. */
export const DELETE_DIGESTS: Statement<{ deleted: number }> = statement(
  "digest-delete",
  `with gone as (
     delete from deal_digests where (server_id, day, account_number) in (
       select server_id, day, account_number from deal_digests where server_id = $1 and day < $2::date
       order by day, account_number limit $3
     ) returning 1
   )
   select count(*) as deleted from gone`,
);

/** A row of `deal_digests` with its money in minor units of the account's currency. */
export interface DealDigestRow {
  readonly account_number: string;
  readonly deal_count: number;
  readonly commission_minor: number;
  readonly realized_pnl_minor: number;
  readonly swap_minor: number;
  /** In hex. */
  readonly hash: string;
  /**
   * Raised by each change of the day's deals. Begins with 1, or with 2 if the first deal of the day
   * was booked after the digests of the day were made.
   */
  readonly revision: number;
  /** Null for revision 1. */
  readonly revised_at: Date | null;
}

/** $1 server, $2 day, $3 account numbers. */
export const FIND_DIGESTS: Statement<DealDigestRow> = statement(
  "digest-find",
  `select d.account_number, d.deal_count, d.commission_minor, d.realized_pnl_minor, d.swap_minor,
     encode(d.hash, 'hex') as hash, d.revision, d.revised_at
   from unnest($3::text[]) k (account_number)
   join deal_digests d on d.server_id = $1 and d.day = $2::date and d.account_number = k.account_number`,
);

/**
 * $1 server, $2 account number. Runs before a rebuild replaces the deals of the account. Notes the
 * day of the first live or staged deal: all digests from this day on are computed again.
 */
export const NOTE_REBUILD: Statement<never> = statement(
  "digest-note-rebuild",
  `insert into late_records (server_id, day, account_number)
   select $1::uuid, (first.executed_at at time zone 'UTC')::date, $2::text from (select least(
     (select min(t.executed_at) from deals t where t.server_id = $1 and t.account_number = $2),
     (select min(t.executed_at) from staged_deals t where t.server_id = $1 and t.account_number = $2)
   ) as executed_at) first
   where first.executed_at is not null`,
);
