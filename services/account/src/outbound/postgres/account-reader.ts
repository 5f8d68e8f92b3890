import { type Database, type Queryable, type Statement, statement } from "@kapi/postgres";

import type { Account } from "../../domain/account.ts";
import type { AccountFilter, AccountName, AccountReader, PageQuery } from "../../domain/ports.ts";
import { countAccounts } from "./account-counts.ts";
import { ACCOUNT_COLUMNS, type AccountRow, fromRow } from "./account-row.ts";
import { selectServer } from "./server-register.ts";

/** Accounts read at once while all accounts of a server are listed. */
const CHUNK_ROWS = 500;
/** Before the first account of a list: nothing is later. */
const LIST_START: ListPosition = { listed_at: "infinity", account_number: "" };

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
/**
 * The lists, each with statements of its own, so that every one of them finds its rows in order in one index: all accounts
 * of a server, or those of a status. A search reads along that index and leaves out what does not match: one that matches
 * nothing reads every account of the server.
 */
const LISTS = {
  all: { ...listStatements("all", []), count: null },
  ofStatus: { ...listStatements("of-status", ["status = $2"]), count: null },
  found: listStatements("found", ["(account_number ilike $2 or account_name ilike $2)"]),
  foundOfStatus: listStatements("found-of-status", [
    "status = $2",
    "(account_number ilike $3 or account_name ilike $3)",
  ]),
};

interface ListStatements {
  readonly page: Statement<AccountRow>;
  /** Null: how many there are is kept. */
  readonly count: Statement<{ total: number }> | null;
  /** What comes after a {@link ListPosition}. */
  readonly chunk: Statement<AccountRow & ListPosition>;
}

/** The key of an account in a list. It never changes, and no two accounts of a server have the same. */
interface ListPosition {
  /** `created_at` as text: a Date would round it. */
  readonly listed_at: string;
  readonly account_number: string;
}

/** `conditions` use the parameters from $2 on, one each. */
function listStatements(name: string, conditions: readonly string[]): ListStatements {
  const where = ["server_id = $1", "status <> 'deleted'", ...conditions].join(" and ");
  const order = "order by created_at desc, account_number desc";
  const next = conditions.length + 2;
  return {
    page: statement(
      `account-page-${name}`,
      `select ${ACCOUNT_COLUMNS} from accounts where ${where} ${order} limit $${next} offset $${next + 1}`,
    ),
    count: statement(`account-count-${name}`, `select count(*) as total from accounts where ${where}`),
    chunk: statement(
      `account-chunk-${name}`,
      `select ${ACCOUNT_COLUMNS}, created_at::text as listed_at from accounts
       where ${where} and (created_at, account_number) < ($${next}::timestamptz, $${next + 1}) ${order} limit $${next + 2}`,
    ),
  };
}

/** Reads accounts and servers from this service's schema. */
export function createAccountReader(database: Database): AccountReader {
  return {
    server: (serverId) => selectServer(database, serverId),
    account: (serverId, accountNumber) => account(database, serverId, accountNumber),
    ids: (accounts) => ids(database, accounts),
    page: (serverId, query) => page(database, serverId, query),
    all: (serverId, filter) => all(database, serverId, filter),
  };
}

async function account(database: Queryable, serverId: string, accountNumber: string): Promise<Account | null> {
  const [row] = await database.query(SELECT_ACCOUNT, [serverId, accountNumber]);
  return row === undefined ? null : fromRow(row);
}

async function ids(database: Queryable, accounts: readonly AccountName[]): Promise<(string | null)[]> {
  const rows = await database.query(SELECT_IDS, [
    accounts.map((asked) => asked.serverId),
    accounts.map((asked) => asked.accountNumber),
  ]);
  return rows.map((row) => row.id);
}

async function page(
  database: Queryable,
  serverId: string,
  query: PageQuery,
): Promise<{ accounts: Account[]; total: number }> {
  const { statements, values } = listOf(serverId, query);
  const [rows, total] = await Promise.all([
    database.query(statements.page, [...values, query.limit, (query.page - 1) * query.limit]),
    statements.count === null
      ? countAccounts(database, serverId, query.status)
      : database.query(statements.count, values).then(([count]) => count?.total ?? 0),
  ]);
  return { accounts: rows.map(fromRow), total };
}

/**
 * Each chunk is a statement of its own: between two, nothing is held in the database, however slowly they are read. The key of
 * an account never changes, so each account comes once, and none is missing that was there from the first chunk to the last.
 */
async function* all(database: Queryable, serverId: string, filter: AccountFilter): AsyncIterable<Account[]> {
  const { statements, values } = listOf(serverId, filter);
  let position: ListPosition | undefined = LIST_START;
  while (position !== undefined) {
    const after = [position.listed_at, position.account_number, CHUNK_ROWS];
    const rows: readonly (AccountRow & ListPosition)[] = await database.query(statements.chunk, [...values, ...after]);
    if (rows.length > 0) yield rows.map(fromRow);
    position = rows.length === CHUNK_ROWS ? rows.at(-1) : undefined;
  }
}

/** `%`, `_` and `\` stand for themselves in a search. */
function listOf(serverId: string, { status, search }: AccountFilter): { statements: ListStatements; values: string[] } {
  const pattern = `%${(search ?? "").replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  if (status === undefined) {
    return search === undefined
      ? { statements: LISTS.all, values: [serverId] }
      : { statements: LISTS.found, values: [serverId, pattern] };
  }
  return search === undefined
    ? { statements: LISTS.ofStatus, values: [serverId, status] }
    : { statements: LISTS.foundOfStatus, values: [serverId, status, pattern] };
}
