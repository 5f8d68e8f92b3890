import { column } from "@kapi/commands";
import { assert, assertDefined } from "@kapi/kernel";
import { type Database, type Queryable, statement } from "@kapi/postgres";

import type { Account, AccountCreation } from "../../domain/account.ts";
import { ACCOUNT_MOVES, startsOf } from "../../domain/account-status.ts";
import type { CreationRepository, CreationResult } from "../../domain/ports.ts";
import { countMoves } from "./account-counts.ts";
import { ACCOUNT_COLUMNS, ACCOUNT_COLUMNS_OF_A, type AccountRow, fromRow, IN_LOCK_ORDER } from "./account-row.ts";

const SELECT_BY_ID = statement<AccountRow>(
  "account-select-by-id",
  `select ${ACCOUNT_COLUMNS} from accounts where id = any($1::uuid[])`,
);
// $1 server, $2 number of creations. Returns the highest assigned account number. The row lock
// prevents two processes from assigning the same number.
const TAKE_NUMBERS = statement<{ last_account_number: number; currency: string }>(
  "server-take-numbers",
  `update servers set last_account_number = last_account_number + $2 where server_id = $1
   returning last_account_number, currency`,
);
const INSERT_PENDING = statement<{ id: string }>(
  "account-insert-pending",
  `insert into accounts (id, organization_id, server_id, account_number, account_name, status, currency, leverage,
     initial_balance_minor, created_at, updated_at, running_command)
   select id, organization_id, $1, account_number, account_name, 'pending', $2, leverage, initial_balance_minor,
     created_at, created_at, command_id
   from unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::integer[], $8::bigint[], $9::timestamptz[], $10::uuid[])
     as taken(id, organization_id, account_number, account_name, leverage, initial_balance_minor, created_at, command_id)
   on conflict (id) do nothing
   returning id`,
);

/** The start status of `activate` and `fail`. */
const PENDING = "pending";
assert(
  startsOf("activate").every((status) => status === PENDING),
  "creations must start from pending only",
);
// Changes only accounts with the status `pending`. Accounts with any other status, such as `active`
// or `deleting`, stay unchanged.
const CLOSE = statement<AccountRow>(
  "account-close-creation",
  `with ended as materialized (
     select e.* from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::boolean[])
       as e(id, status, reason, at, opened)
     join accounts a on a.id = e.id
     where a.status = any($6::text[])
     ${IN_LOCK_ORDER}
   )
   update accounts a set status = ended.status, status_reason = ended.reason, version = a.version + 1,
     updated_at = ended.at, activated_at = case when ended.opened then ended.at end,
     trading_password_changed_at = case when ended.opened then ended.at end,
     investor_password_changed_at = case when ended.opened then ended.at end
   from ended where a.id = ended.id
   returning ${ACCOUNT_COLUMNS_OF_A}`,
);

/** Assigns account numbers and inserts accounts as `pending` (decisions, 4.2). */
export function createCreationRepository(database: Database): CreationRepository {
  return {
    findOrCreate: (creations) => database.transaction((tx) => findOrCreate(tx, creations)),
    close,
    read: async (managedAccountIds) => (await database.query(SELECT_BY_ID, [managedAccountIds])).map(fromRow),
  };
}

async function findOrCreate(tx: Queryable, creations: readonly AccountCreation[]): Promise<Account[]> {
  const ids = creations.map((creation) => creation.managedAccountId);
  const known = new Set((await tx.query(SELECT_BY_ID, [ids])).map((row) => row.id));
  const fresh = creations.filter((creation) => !known.has(creation.managedAccountId));
  // Lock servers in a fixed order, so that two processes cannot deadlock.
  const byServer = Map.groupBy(fresh, (creation) => creation.serverId);
  for (const serverId of [...byServer.keys()].toSorted()) {
    await insertPending(tx, serverId, byServer.get(serverId) ?? []);
  }
  const accounts = new Map((await tx.query(SELECT_BY_ID, [ids])).map((row) => [row.id, fromRow(row)]));
  return ids.map((id) => assertDefined(accounts.get(id), `account ${id}`));
}

async function insertPending(tx: Queryable, serverId: string, creations: readonly AccountCreation[]): Promise<void> {
  const [taken] = await tx.query(TAKE_NUMBERS, [serverId, creations.length]);
  const server = assertDefined(taken, `server ${serverId}`);
  const first = server.last_account_number - creations.length + 1;
  const inserted = await tx.query(INSERT_PENDING, [
    serverId,
    server.currency,
    creations.map((creation) => creation.managedAccountId),
    creations.map((creation) => creation.organizationId),
    creations.map((_, index) => String(first + index)),
    creations.map((creation) => creation.accountName),
    creations.map((creation) => creation.leverage),
    creations.map((creation) => creation.initialBalanceMinor),
    creations.map((creation) => creation.createdAt),
    creations.map((creation) => creation.commandId),
  ]);
  await countMoves(
    tx,
    inserted.map(() => ({ serverId, from: null, to: "pending" })),
  );
}

async function close(tx: Queryable, results: readonly CreationResult[]): Promise<Account[]> {
  if (results.length === 0) return [];
  const rows = await tx.query(CLOSE, [
    results.map((result) => result.managedAccountId),
    results.map((result) => ACCOUNT_MOVES[result.move].to),
    results.map((result) => (result.move === "fail" ? result.reason : null)),
    results.map((result) => result.at),
    results.map((result) => result.move === "activate"),
    column([PENDING]),
  ]);
  const closed = rows.map(fromRow);
  await countMoves(
    tx,
    closed.map(({ serverId, status }) => ({ serverId, from: PENDING, to: status })),
  );
  return closed;
}
