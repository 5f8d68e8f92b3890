import { type Database, instantText, type Statement, statement } from "@kapi/postgres";

import { ACCOUNT_COLUMNS_OF_A, type AccountRow } from "./account-row.ts";

/**
 * Timeout of a search, below that of other statements. A search for a text without three
 * consecutive letters or digits reads every account of the server.
 */
const SEARCH_TIMEOUT_MS = 2_000;
const SET_TIMEOUT = `set_config('statement_timeout', '${SEARCH_TIMEOUT_MS}', true)`;

/** The search index is read as a bitmap scan, which is off for the pool's other statements. */
export const SEARCH_SETTINGS = statement<unknown>(
  "account-search-settings",
  `select ${SET_TIMEOUT}, set_config('enable_bitmapscan', 'on', true)`,
);
const CHUNK_SETTINGS = statement<unknown>("account-search-chunk-settings", `select ${SET_TIMEOUT}`);

/** The key of an account in a list. It never changes and is unique within a server. */
export interface ListPosition {
  /** `created_at` as text: a Date would round it. */
  readonly listed_at: string;
  readonly account_number: string;
}

/** A found account, or null columns if there is none, with the total. */
type FoundRow = { readonly total: number } & ((AccountRow & ListPosition) | { readonly id: null });

/**
 * Finds accounts: `$1` is the server, `$2` the pattern. The conditions are written so that only the
 * index `accounts_search` can serve them: the planner could otherwise choose an index that reads
 * all accounts of the server. The pattern is converted to lower case once, not per account. A
 * pattern with a line feed could match the end of the number and the beginning of the name. So
 * number and name are then also compared separately.
 */
export const FOUND = `server_id::text = $1::uuid::text
  and lower(account_number || E'\\n' || account_name) like (select lower($2::text))
  and ($2 not like E'%\\n%' or ${matchesNumberOrName("$2")}) and status || '' <> 'deleted'`;
/** Finds accounts with status `$3`; see {@link FOUND}. */
export const FOUND_OF_STATUS = `${FOUND} and status || '' = $3`;

/** A condition: the number alone, or the name alone, matches the parameter `pattern`. */
export function matchesNumberOrName(pattern: string): string {
  return `(account_number ilike ${pattern} or account_name ilike ${pattern})`;
}

/**
 * One page of the matches of `where`, newest first, and their total. The parameters from `next`
 * on: the two fields of the {@link ListPosition} after which the page begins; `limit`; `offset`.
 */
export function searchStatement(name: string, where: string, next: number): Statement<FoundRow> {
  // `materialized`: the matches are found before they are ordered. A plan that reads accounts in
  // list order would read all accounts of the server.
  return statement<FoundRow>(
    `account-search-${name}`,
    `select total, ${ACCOUNT_COLUMNS_OF_A}, ${instantText("a.created_at")} as listed_at from (
       with found as materialized (select id, created_at, account_number from accounts where ${where})
       select (select count(*) from found) as total,
         array(select id from found where (created_at, account_number) < ($${next}::timestamptz, $${next + 1})
           order by created_at desc, account_number desc limit $${next + 2} offset $${next + 3}) as ids
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
): Promise<{ rows: readonly (AccountRow & ListPosition)[]; total: number }> {
  const rows = await readWith(SEARCH_SETTINGS, database, wanted, values);
  const found = rows.filter((row): row is FoundRow & AccountRow & ListPosition => row.id !== null);
  return { rows: found, total: rows[0]?.total ?? 0 };
}

/** Reads a chunk of an unpaged search with the same timeout. */
export function searchChunk<Row>(
  database: Database,
  chunk: Statement<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  return readWith(CHUNK_SETTINGS, database, chunk, values);
}

/** Reads in a separate transaction, so that the settings apply to no other statement. */
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
