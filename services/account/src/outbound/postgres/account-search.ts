import { type Database, type Statement, statement } from "@kapi/postgres";

import { ACCOUNT_COLUMNS_OF_A, type AccountRow } from "./account-row.ts";

/**
 * Timeout of a search, below that of other statements. A text without three letters or digits in a
 * row reads every account of the server.
 */
const SEARCH_TIMEOUT_MS = 2_000;
const SET_TIMEOUT = `set_config('statement_timeout', '${SEARCH_TIMEOUT_MS}', true)`;

/** The search index is read as a bitmap scan, which is off for the pool's other statements. */
export const SEARCH_SETTINGS = statement<unknown>(
  "account-search-settings",
  `select ${SET_TIMEOUT}, set_config('enable_bitmapscan', 'on', true)`,
);
const CHUNK_SETTINGS = statement<unknown>("account-search-chunk-settings", `select ${SET_TIMEOUT}`);

/** A found account, or null columns if there is none, with the total. */
type FoundRow = { readonly total: number; readonly listed_at: string } & (AccountRow | { readonly id: null });

/**
 * Finds accounts: `$1` is the server, `$2` the pattern. Only the condition of `accounts_search`
 * matches an index. Otherwise the planner could choose an index that reads all accounts of the
 * server. The pattern is lowered once, not per account. A pattern with a line feed could match
 * across the end of the number, so it is checked again.
 */
export const FOUND = `server_id::text = $1::uuid::text
  and lower(account_number || E'\\n' || account_name) like (select lower($2::text))
  and ($2 not like E'%\\n%' or ${exactMatch("$2")}) and status || '' <> 'deleted'`;
/** Finds accounts with status `$3`; see {@link FOUND}. */
export const FOUND_OF_STATUS = `${FOUND} and status || '' = $3`;

/** A condition: the number or the name contains the parameter `pattern`. */
export function exactMatch(pattern: string): string {
  return `(account_number ilike ${pattern} or account_name ilike ${pattern})`;
}

/**
 * One page of the matches of `where`, newest first, and their total. The parameters from `next` on:
 * limit, offset, and the time and number that the page begins behind, or null.
 */
export function searchStatement(name: string, where: string, next: number): Statement<FoundRow> {
  // The matches are found before they are ordered. In list order, all accounts would be read.
  return statement<FoundRow>(
    `account-search-${name}`,
    `select total, ${ACCOUNT_COLUMNS_OF_A},
       to_char(a.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as listed_at
     from (
       with found as materialized (select id, created_at, account_number from accounts where ${where})
       select (select count(*) from found) as total,
         array(select id from found
         where $${next + 2}::timestamptz is null or (created_at, account_number) < ($${next + 2}::timestamptz, $${next + 3}::text)
         order by created_at desc, account_number desc limit $${next} offset $${next + 1}) as ids
     ) page
     left join accounts a on a.id = any(page.ids)
     order by a.created_at desc, a.account_number desc`,
  );
}

/** Runs a search with its timeout. A timeout rejects with a transient error. */
export async function search(
  database: Database,
  wanted: Statement<FoundRow>,
  values: readonly unknown[],
): Promise<{ rows: (FoundRow & AccountRow)[]; total: number }> {
  const rows = await readWith(SEARCH_SETTINGS, database, wanted, values);
  return {
    rows: rows.filter((row): row is FoundRow & AccountRow => row.id !== null),
    total: rows[0]?.total ?? 0,
  };
}

/** Reads a chunk of an unpaged search with the same timeout. */
export function searchChunk<Row>(
  database: Database,
  chunk: Statement<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  return readWith(CHUNK_SETTINGS, database, chunk, values);
}

/** Reads in its own transaction, which limits the settings to it. */
function readWith<Row>(
  settings: Statement<unknown>,
  database: Database,
  wanted: Statement<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  return database.transaction((tx) => {
    tx.execute(settings, []);
    return tx.query(wanted, values);
  });
}
