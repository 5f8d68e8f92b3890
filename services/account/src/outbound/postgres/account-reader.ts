import { type Database, type Queryable, statement } from "@kapi/postgres";

import type { Account } from "../../domain/account.ts";
import type { AccountFilter, AccountName, AccountReader, PageQuery } from "../../domain/ports.ts";
import { ACCOUNT_COLUMNS, type AccountRow, fromRow } from "./account-row.ts";
import { selectServer } from "./server-register.ts";

/** Accounts read at once while a whole server is streamed. */
const STREAM_CHUNK_ROWS = 500;

/** `%`, `_` and `\` stand for themselves in a search. */
const FILTER = `server_id = $1 and status <> 'deleted' and ($2::text is null or status = $2)
  and ($3::text is null or account_number ilike $3 or account_name ilike $3)`;

const SELECT_ACCOUNT = statement<AccountRow>(
  "account-select",
  `select ${ACCOUNT_COLUMNS} from accounts where server_id = $1 and account_number = $2 and status <> 'deleted'`,
);
const SELECT_EXISTING = statement<{ existing: boolean }>(
  "account-existing",
  `select a.id is not null as existing
   from unnest($1::uuid[], $2::text[]) with ordinality as asked(server_id, account_number, position)
   left join accounts a on a.server_id = asked.server_id and a.account_number = asked.account_number
     and a.status <> 'deleted'
   order by asked.position`,
);
const SELECT_PAGE = statement<AccountRow>(
  "account-page",
  `select ${ACCOUNT_COLUMNS} from accounts where ${FILTER}
   order by created_at desc, account_number desc limit $4 offset $5`,
);
const COUNT_PAGE = statement<{ total: number }>(
  "account-count",
  `select count(*) as total from accounts where ${FILTER}`,
);
const SELECT_ALL = statement<AccountRow>(
  "account-all",
  `select ${ACCOUNT_COLUMNS} from accounts where ${FILTER} order by created_at desc, account_number desc`,
);

/** Reads accounts and servers from this service's schema. */
export function createAccountReader(database: Database): AccountReader {
  return {
    server: (serverId) => selectServer(database, serverId),
    account: (serverId, accountNumber) => account(database, serverId, accountNumber),
    existing: (accounts) => existing(database, accounts),
    page: (serverId, query) => page(database, serverId, query),
    all: (serverId, filter) => all(database, serverId, filter),
  };
}

async function account(database: Queryable, serverId: string, accountNumber: string): Promise<Account | null> {
  const [row] = await database.query(SELECT_ACCOUNT, [serverId, accountNumber]);
  return row === undefined ? null : fromRow(row);
}

async function existing(database: Queryable, accounts: readonly AccountName[]): Promise<boolean[]> {
  const rows = await database.query(SELECT_EXISTING, [
    accounts.map((asked) => asked.serverId),
    accounts.map((asked) => asked.accountNumber),
  ]);
  return rows.map((row) => row.existing);
}

async function page(
  database: Queryable,
  serverId: string,
  query: PageQuery,
): Promise<{ accounts: Account[]; total: number }> {
  const filter = filterValues(serverId, query);
  const [rows, [count]] = await Promise.all([
    database.query(SELECT_PAGE, [...filter, query.limit, (query.page - 1) * query.limit]),
    database.query(COUNT_PAGE, filter),
  ]);
  return { accounts: rows.map(fromRow), total: count?.total ?? 0 };
}

async function* all(database: Database, serverId: string, filter: AccountFilter): AsyncIterable<Account[]> {
  for await (const rows of database.stream(SELECT_ALL, filterValues(serverId, filter), STREAM_CHUNK_ROWS)) {
    yield rows.map(fromRow);
  }
}

function filterValues(serverId: string, { status, search }: AccountFilter): (string | null)[] {
  const pattern = search === undefined ? null : `%${search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  return [serverId, status ?? null, pattern];
}
