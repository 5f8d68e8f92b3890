import { type Queryable, type Statement, statement } from "@kapi/postgres";

/** Rows deleted per statement: few enough for the statement timeout. */
const BATCH_ROWS = 20_000;

/** Tables with numbered records of accounts. */
const RECORD_TABLES = ["deals", "positions", "orders", "staged_deals", "staged_positions", "staged_orders"] as const;

// $1 server, $2 account number, $3 rows; newest first.
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
 * Deletes the history of an account: its orders, positions and deals, its gap, and the staged rows
 * of a rebuild. Idempotent. The account must be marked `deleting`, with all its events booked. Its
 * feed row stays until the account is `deleted`, so that repeated events restore nothing.
 */
export async function deleteHistory(queryable: Queryable, serverId: string, accountNumber: string): Promise<void> {
  for (const deletion of DELETE_RECORDS) {
    let deleted = 0;
    do {
      const [row] = await queryable.query(deletion, [serverId, accountNumber, BATCH_ROWS]);
      deleted = row?.n ?? 0;
    } while (deleted > 0);
  }
  for (const deletion of DELETE_FEEDS) await queryable.query(deletion, [serverId, accountNumber]);
}
