import { type Database, type Statement, statement } from "@kapi/postgres";

import type { Account } from "../../domain/account.ts";
import { ACCOUNT_COLUMNS_OF_A, type AccountRow, fromRow } from "./account-row.ts";

/**
 * Longest time of a search, below that of other statements: a text without three letters or digits
 * in a row reads every account of the server.
 */
const SEARCH_TIMEOUT_MS = 2_000;

/** The index of searches is read as a bitmap, which other statements of the pool never need. */
export const SEARCH_SETTINGS = statement<unknown>(
  "account-search-settings",
  `select set_config('statement_timeout', '${SEARCH_TIMEOUT_MS}', true), set_config('enable_bitmapscan', 'on', true)`,
);

/** An account that was found, or none of them; with how many there are in all. */
export type FoundRow = { readonly total: number } & (AccountRow | { readonly id: null });

/**
 * What a search finds: `$1` is the server, `$2` the pattern. No condition but those of the index
 * `accounts_search` is one that an index has; otherwise a search could be planned along one that
 * leads to all accounts of the server. The index also finds what matches across the end of the
 * number.
 */
export const FOUND = `server_id::text = $1::uuid::text and (account_number || E'\\n' || account_name) ilike $2
  and ${exactMatch("$2")} and status || '' <> 'deleted'`;

/** Whether the number or the name has the text of the parameter `pattern`. */
export function exactMatch(pattern: string): string {
  return `(account_number ilike ${pattern} or account_name ilike ${pattern})`;
}

/**
 * One page of what `where` leaves, newest first, and how many there are; `limit` and `offset` are
 * the parameters after `next`.
 */
export function searchStatement(name: string, where: string, next: number): Statement<FoundRow> {
  // Found first and ordered then: in the order of the list, all accounts would be read for the few
  // that match.
  return statement<FoundRow>(
    `account-search-${name}`,
    `select total, ${ACCOUNT_COLUMNS_OF_A} from (
       with found as materialized (select id, created_at, account_number from accounts where ${where})
       select (select count(*) from found) as total,
         array(select id from found order by created_at desc, account_number desc limit $${next} offset $${next + 1}) as ids
     ) page
     left join accounts a on a.id = any(page.ids)
     order by a.created_at desc, a.account_number desc`,
  );
}

/**
 * Runs a search within its time, in a transaction of its own. Rejects with a transient error where
 * it takes longer.
 */
export async function search(
  database: Database,
  wanted: Statement<FoundRow>,
  values: readonly unknown[],
): Promise<{ accounts: Account[]; total: number }> {
  const rows = await database.transaction((tx) => {
    tx.execute(SEARCH_SETTINGS, []);
    return tx.query(wanted, values);
  });
  const accounts = rows.filter((row): row is FoundRow & AccountRow => row.id !== null).map(fromRow);
  return { accounts, total: rows[0]?.total ?? 0 };
}
