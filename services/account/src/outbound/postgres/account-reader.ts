import { cursorPage, listScope, pageStart, type Pagination, type AccountRef } from "@kapi/contracts";
import { type Database, instantText, type Queryable, type Statement, statement } from "@kapi/postgres";

import type { Account } from "../../domain/account.ts";
import type { AccountDescription, AccountFilter, AccountReader, PageQuery } from "../../domain/ports.ts";
import { countAccounts, countByState } from "./account-counts.ts";
import { ACCOUNT_COLUMNS, ACCOUNT_COLUMNS_OF_A, type AccountRow, fromRow } from "./account-row.ts";
import {
  matchesNumberOrName,
  FOUND,
  FOUND_OF_STATUS,
  type ListPosition,
  search,
  searchChunk,
  searchStatement,
} from "./account-search.ts";
import { countSelected, listSelected } from "./selected-accounts.ts";
import { selectServer } from "./server-repository.ts";

/**
 * Maximum number of accounts per chunk of an unpaged list. Other requests of the process wait while
 * a chunk is built.
 */
const CHUNK_ROWS = 200;
/** The position before the first account of a list. */
const LIST_START: ListPosition = { listed_at: "infinity", account_number: "" };
const NEWEST_FIRST = "order by created_at desc, account_number desc";

const SELECT_ACCOUNT = statement<AccountRow>(
  "account-select",
  `select ${ACCOUNT_COLUMNS} from accounts where server_id = $1 and account_number = $2 and status <> 'deleted'`,
);
const SELECT_IDS = statement<{ id: string | null }>(
  "account-ids",
  `select a.id
   from unnest($1::uuid[], $2::text[]) with ordinality as asked(server_id, account_number, position)
   left join accounts a on a.server_id = asked.server_id and a.account_number = asked.account_number
     and a.status <> 'deleted'
   order by asked.position`,
);
const SELECT_RECORDS = statement<AccountRow | { readonly id: null }>(
  "account-records",
  `select ${ACCOUNT_COLUMNS_OF_A} from unnest($2::text[]) with ordinality as asked(account_number, position)
   left join accounts a on a.server_id = $1 and a.account_number = asked.account_number and a.status <> 'deleted'
   order by asked.position`,
);
const SELECT_DESCRIPTIONS = statement<{ account_name: string | null; created_at: Date | null }>(
  "account-descriptions",
  `select a.account_name, a.created_at
   from unnest($1::uuid[], $2::text[]) with ordinality as asked(server_id, account_number, position)
   left join accounts a on a.server_id = asked.server_id and a.account_number = asked.account_number
     and a.status <> 'deleted'
   order by asked.position`,
);
/**
 * List statements. Each reads its rows in order from one index: all accounts of a server, or those
 * of a status.
 */
export const LISTS = {
  all: { page: pageStatement("all", []), chunk: chunkStatement("all", []) },
  ofStatus: { page: pageStatement("of-status", ["status = $2"]), chunk: chunkStatement("of-status", ["status = $2"]) },
};
/**
 * Search statements. {@link search} runs `page`, which uses the index `accounts_search`. `chunk` is
 * for an unpaged search with more matches than one chunk, and uses an index of {@link LISTS}.
 */
export const SEARCHES = {
  all: { page: searchStatement("all", FOUND, 3), chunk: chunkStatement("found", [matchesNumberOrName("$2")], 3) },
  ofStatus: {
    page: searchStatement("of-status", FOUND_OF_STATUS, 4),
    chunk: chunkStatement("found-of-status", [matchesNumberOrName("$2"), "status = $3"], 4),
  },
};

function whereOf(conditions: readonly string[]): string {
  return ["server_id = $1", "status <> 'deleted'", ...conditions].join(" and ");
}

/**
 * Selects a page of the accounts after a {@link ListPosition}, whose parameters follow those of the
 * conditions. `conditions` use one parameter each, from $2 on.
 */
function pageStatement(name: string, conditions: readonly string[]): Statement<AccountRow & ListPosition> {
  const next = conditions.length + 2;
  return statement(`account-page-${name}`, `${afterPosition(conditions, next)} offset $${next + 3}`);
}

/** Selects the accounts after a {@link ListPosition}, whose parameters start at `next`. */
function chunkStatement(
  name: string,
  conditions: readonly string[],
  next = conditions.length + 2,
): Statement<AccountRow & ListPosition> {
  return statement(`account-chunk-${name}`, afterPosition(conditions, next));
}

function afterPosition(conditions: readonly string[], next: number): string {
  return `select ${ACCOUNT_COLUMNS}, ${instantText("created_at")} as listed_at from accounts
     where ${whereOf(conditions)} and (created_at, account_number) < ($${next}::timestamptz, $${next + 1})
     ${NEWEST_FIRST} limit $${next + 2}`;
}

/**
 * Accounts and servers as committed, in the schema of the account service. Deleted accounts are
 * never returned. A search that takes too long rejects with a transient error.
 */
export function createAccountReader(database: Database): AccountReader {
  return {
    server: (serverId) => selectServer(database, serverId),
    account: (serverId, accountNumber) => account(database, serverId, accountNumber),
    ids: (accounts) => ids(database, accounts),
    records: (serverId, accountNumbers) => records(database, serverId, accountNumbers),
    descriptions: (accounts) => descriptions(database, accounts),
    counts: (serverIds) => countByState(database, serverIds),
    page: (serverId, query) => page(database, serverId, query),
    all: (serverId, filter) => all(database, serverId, filter),
    countSelected: (serverId, selection) => countSelected(database, serverId, selection),
    selected: (serverId, selection, after, limit) => listSelected(database, serverId, selection, { after, limit }),
  };
}

async function account(database: Queryable, serverId: string, accountNumber: string): Promise<Account | null> {
  const [row] = await database.query(SELECT_ACCOUNT, [serverId, accountNumber]);
  return row === undefined ? null : fromRow(row);
}

async function ids(database: Queryable, accounts: readonly AccountRef[]): Promise<(string | null)[]> {
  const rows = await database.query(SELECT_IDS, [
    accounts.map((asked) => asked.serverId),
    accounts.map((asked) => asked.accountNumber),
  ]);
  return rows.map((row) => row.id);
}

async function records(
  database: Queryable,
  serverId: string,
  accountNumbers: readonly string[],
): Promise<(Account | null)[]> {
  const rows = await database.query(SELECT_RECORDS, [serverId, accountNumbers]);
  return rows.map((row) => (row.id === null ? null : fromRow(row)));
}

async function descriptions(
  database: Queryable,
  accounts: readonly AccountRef[],
): Promise<(AccountDescription | null)[]> {
  const rows = await database.query(SELECT_DESCRIPTIONS, [
    accounts.map((asked) => asked.serverId),
    accounts.map((asked) => asked.accountNumber),
  ]);
  return rows.map(({ account_name: accountName, created_at: createdAt }) =>
    accountName === null || createdAt === null ? null : { accountName, createdAt },
  );
}

async function page(
  database: Database,
  serverId: string,
  query: PageQuery,
): Promise<{ accounts: Account[]; pagination: Pagination }> {
  const start = pageStart("accounts", query);
  const [listedAt, accountNumber] = start.after ?? [LIST_START.listed_at, LIST_START.account_number];
  // One account more shows whether another page follows.
  const values = [...valuesOf(serverId, query), listedAt, accountNumber, start.limit + 1, start.offset];
  const read = await (query.search === undefined
    ? listPage(database, serverId, query, values)
    : search(database, searchOf(query).page, values));
  const { rows, pagination } = cursorPage("accounts", listScope({ serverId }), start, read, (row) => [
    row.listed_at,
    row.account_number,
  ]);
  return { accounts: rows.map(fromRow), pagination };
}

async function listPage(
  database: Database,
  serverId: string,
  query: PageQuery,
  values: readonly unknown[],
): Promise<{ rows: readonly (AccountRow & ListPosition)[]; total: number }> {
  const [rows, total] = await Promise.all([
    database.query(listOf(query).page, values),
    countAccounts(database, serverId, query.status),
  ]);
  return { rows, total };
}

/**
 * Nothing is held in the database between two chunks. The time of creation and the number of an
 * account never change. So each account comes once, and no account is missing that matches the
 * filter throughout.
 */
async function* all(database: Database, serverId: string, filter: AccountFilter): AsyncIterable<Account[]> {
  const values = valuesOf(serverId, filter);
  if (filter.search !== undefined) {
    const first = [...values, LIST_START.listed_at, LIST_START.account_number, CHUNK_ROWS, 0];
    const { rows, total } = await search(database, searchOf(filter).page, first);
    if (total > 0 && total === rows.length) yield rows.map(fromRow);
    if (total === rows.length) return;
  }
  const { chunk } = filter.search === undefined ? listOf(filter) : searchOf(filter);
  let position: ListPosition | undefined = LIST_START;
  while (position !== undefined) {
    const wanted: unknown[] = [...values, position.listed_at, position.account_number, CHUNK_ROWS];
    const rows: readonly (AccountRow & ListPosition)[] =
      filter.search === undefined ? await database.query(chunk, wanted) : await searchChunk(database, chunk, wanted);
    if (rows.length > 0) yield rows.map(fromRow);
    position = rows.length === CHUNK_ROWS ? rows.at(-1) : undefined;
  }
}

function listOf({ status }: AccountFilter): (typeof LISTS)["all"] {
  return status === undefined ? LISTS.all : LISTS.ofStatus;
}

function searchOf({ status }: AccountFilter): (typeof SEARCHES)["all"] {
  return status === undefined ? SEARCHES.all : SEARCHES.ofStatus;
}

/** The parameters of a list. `%`, `_` and `\` of a search are escaped. */
function valuesOf(serverId: string, { status, search: text }: AccountFilter): string[] {
  const pattern = text === undefined ? [] : [`%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`];
  return [serverId, ...pattern, ...(status === undefined ? [] : [status])];
}
