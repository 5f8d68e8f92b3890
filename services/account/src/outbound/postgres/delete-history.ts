import { type Queryable, type Statement, statement } from "@kapi/postgres";

/** Rows of one table that go with one statement, well within its deadline. */
const BATCH_ROWS = 20_000;

/** Every table whose rows are numbered records of an account. */
const RECORD_TABLES = ["deals", "positions", "orders", "staged_deals", "staged_positions", "staged_orders"] as const;

// $1 server, $2 account number, $3 rows: the newest go first.
const DELETE_RECORDS: readonly Statement<{ n: number }>[] = RECORD_TABLES.map((table) =>
  statement(
    `${table}-delete`,
    `with gone as (
       delete from ${table} where server_id = $1 and account_number = $2
         and n > (select coalesce(max(n), 0) from ${table} where server_id = $1 and account_number = $2) - $3::bigint
       returning n
     )
     select count(*) as n from gone`,
  ),
);
const DELETE_FEEDS: readonly Statement<never>[] = ["feed_gaps", "staged_feeds"].map((table) =>
  statement(`${table}-delete`, `delete from ${table} where server_id = $1 and account_number = $2`),
);

/**
 * Deletes everything that the history has of an account: orders, positions, deals, and what a
 * rebuild has gathered. Idempotent. The account must be marked `deleting` before, and all its
 * events booked. How far they are booked stays until the account is `deleted`, so that no event
 * that comes again brings anything back.
 */
export async function deleteHistory(queryable: Queryable, serverId: string, accountNumber: string): Promise<void> {
  for (const deletion of DELETE_RECORDS) {
    let deleted = BATCH_ROWS;
    while (deleted >= BATCH_ROWS) {
      const [row] = await queryable.query(deletion, [serverId, accountNumber, BATCH_ROWS]);
      deleted = row?.n ?? 0;
    }
  }
  for (const deletion of DELETE_FEEDS) await queryable.query(deletion, [serverId, accountNumber]);
}
