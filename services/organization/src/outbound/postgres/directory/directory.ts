import {
  type DirectoryEntry,
  type KeyEntry,
  type Prices,
  type PricesEntry,
  type ServerEntry,
  TOPICS,
  directoryKey,
} from "@kapi/contracts";
import { assertDefined, type SealedPassword, toIso } from "@kapi/kernel";
import type { OutboxTransaction } from "@kapi/outbox";
import { type Database, type Queryable, statement } from "@kapi/postgres";

import type { ManagementKey } from "../../../domain/directory/management-key.ts";
import type { NewKey, NewServer, RegisteredServer } from "../../../domain/directory/ports.ts";
import type { RowRange } from "../../../domain/row-range.ts";
import { enqueue } from "../outbox.ts";

const ROWS_PER_READ = 500;

interface KeyRow {
  readonly key_id: string;
  readonly organization_id: string;
  readonly secret_hash: string;
  readonly scopes: KeyEntry["scopes"];
  readonly server_ids: string[] | null;
  readonly expires_at: Date | null;
  readonly status: KeyEntry["status"];
  readonly rate_limit: KeyEntry["rateLimit"];
  readonly version: number;
  readonly name: string;
  readonly created_at: Date;
  readonly revoked_at: Date | null;
}

interface ServerRow {
  readonly server_id: string;
  readonly organization_id: string;
  readonly status: ServerEntry["status"];
  readonly trading_server_url: string;
  readonly sealed_token: SealedPassword | null;
  readonly configuration: ServerEntry["configuration"];
  readonly version: number;
}

interface PricesRow {
  readonly prices: Prices;
  readonly version: number;
}

const KEY_COLUMNS = `key_id, organization_id, secret_hash, scopes, server_ids, expires_at, status, rate_limit, version,
  name, created_at, revoked_at`;
const SERVER_COLUMNS = `server_id, organization_id, status, trading_server_url, configuration, version, sealed_token`;

const insertKeyRow = statement<KeyRow>(
  "directory_insert_key",
  `insert into management_keys (${KEY_COLUMNS})
   values ($1, $2, $3, $4, $5, $6, 'active', $7, 1, $8, $9, null) returning ${KEY_COLUMNS}`,
);
// Concurrent creations count each other.
const lockOrganization = statement(
  "directory_lock_organization",
  `select 1 from organizations where id = $1 for update`,
);
const countUsableKeys = statement<{ active: number; total: number }>(
  "directory_count_usable_keys",
  `select count(*) filter (where status = 'active' and (expires_at is null or expires_at > $2)) as active,
     count(*) as total
   from management_keys where organization_id = $1`,
);
const revokeKeyRow = statement<KeyRow>(
  "directory_revoke_key",
  `update management_keys set status = 'revoked', version = version + 1, revoked_at = $3
   where key_id = $1 and organization_id = coalesce($2, organization_id) and status = 'active' returning ${KEY_COLUMNS}`,
);
const selectKeyRow = statement<KeyRow>(
  "directory_select_key",
  `select ${KEY_COLUMNS} from management_keys where key_id = $1 and organization_id = coalesce($2, organization_id)`,
);
const selectKeysOf = statement<KeyRow>(
  "directory_select_keys_of",
  `select ${KEY_COLUMNS} from management_keys where organization_id = $1
   order by status = 'active' desc, created_at desc, key_id limit $2 offset $3`,
);
const countKeysOf = statement<{ total: number }>(
  "directory_count_keys_of",
  `select count(*) as total from management_keys where organization_id = $1`,
);
const selectKeyNames = statement<{ key_id: string; name: string }>(
  "directory_select_key_names",
  `select key_id, name from management_keys where key_id = any($1::text[])`,
);
const selectKeyRows = statement<KeyRow>("directory_select_keys", `select ${KEY_COLUMNS} from management_keys`);

const lockServerRow = statement<ServerRow>(
  "directory_lock_server",
  `select ${SERVER_COLUMNS} from servers where server_id = $1 for update`,
);
// A server id belongs to one organization for good. A token is valid only for its own address.
const upsertServerRow = statement<ServerRow>(
  "directory_upsert_server",
  `insert into servers (${SERVER_COLUMNS}, created_at) values ($1, $2, 'active', $3, $4, 1, $5, $6)
   on conflict (server_id) do update
   set trading_server_url = excluded.trading_server_url, configuration = excluded.configuration, version = servers.version + 1,
     sealed_token = coalesce(
       excluded.sealed_token,
       case when servers.trading_server_url = excluded.trading_server_url then servers.sealed_token end
     )
   where servers.organization_id = excluded.organization_id
   returning ${SERVER_COLUMNS}`,
);
// An unchanged status is not announced.
const setServerStatusRow = statement<ServerRow>(
  "directory_set_server_status",
  `update servers set status = $3, version = version + 1
   where server_id = $1 and organization_id = $2 and status <> 'removed' and status <> $3 returning ${SERVER_COLUMNS}`,
);
const selectServerOf = statement<ServerRow>(
  "directory_select_server_of",
  `select ${SERVER_COLUMNS} from servers where server_id = $1 and organization_id = $2 and status <> 'removed'`,
);
const selectServersOf = statement<ServerRow>(
  "directory_select_servers_of",
  `select ${SERVER_COLUMNS} from servers where organization_id = $1 and status <> 'removed'
   order by created_at, server_id limit $2 offset $3`,
);
const countServersOf = statement<{ total: number }>(
  "directory_count_servers_of",
  `select count(*) as total from servers where organization_id = $1 and status <> 'removed'`,
);
const selectServerRows = statement<ServerRow>("directory_select_servers", `select ${SERVER_COLUMNS} from servers`);

const upsertPricesRow = statement<PricesRow>(
  "directory_upsert_prices",
  `insert into prices (prices, version) values ($1, 1)
   on conflict (the_only) do update set prices = excluded.prices, version = prices.version + 1
   returning prices, version`,
);
const selectPricesRows = statement<PricesRow>("directory_select_prices", `select prices, version from prices`);

/** Counts usable keys and all keys. Nobody else adds a key until the transaction ends. */
export async function lockAndCountKeys(
  tx: OutboxTransaction,
  organizationId: string,
  nowMs: number,
): Promise<{ readonly active: number; readonly total: number }> {
  await tx.query(lockOrganization, [organizationId]);
  const [counts] = await tx.query(countUsableKeys, [organizationId, toIso(nowMs)]);
  return assertDefined(counts, "the counts of keys");
}

/** Adds and announces a key. */
export async function insertKey(tx: OutboxTransaction, key: NewKey, nowMs: number): Promise<ManagementKey> {
  const [row] = await tx.query(insertKeyRow, [
    key.keyId,
    key.organizationId,
    key.secretHash,
    key.scopes,
    key.serverIds,
    key.expiresAt,
    key.rateLimit === null ? null : JSON.stringify(key.rateLimit),
    key.name,
    toIso(nowMs),
  ]);
  const inserted = assertDefined(row, "the key that was inserted");
  enqueueEntry(tx, keyFromRow(inserted));
  return managementKeyFromRow(inserted);
}

/**
 * Revokes and announces a key; `isNew` is false if it was revoked before. Null: no such key in the
 * organization, or anywhere if `organizationId` is null.
 */
export async function revokeKey(
  tx: OutboxTransaction,
  keyId: string,
  organizationId: string | null,
  nowMs: number,
): Promise<{ readonly key: ManagementKey; readonly isNew: boolean } | null> {
  const [revoked] = await tx.query(revokeKeyRow, [keyId, organizationId, toIso(nowMs)]);
  if (revoked) enqueueEntry(tx, keyFromRow(revoked));
  const [row] = revoked ? [revoked] : await tx.query(selectKeyRow, [keyId, organizationId]);
  return row ? { key: managementKeyFromRow(row), isNew: revoked !== undefined } : null;
}

/** Active keys first, then newest first. */
export async function readKeys(database: Queryable, organizationId: string, range: RowRange): Promise<ManagementKey[]> {
  return (await database.query(selectKeysOf, [organizationId, range.limit, range.offset])).map(managementKeyFromRow);
}

export async function countKeys(database: Queryable, organizationId: string): Promise<number> {
  return (await database.query(countKeysOf, [organizationId]))[0]?.total ?? 0;
}

/** Names by id; unknown ids are left out. */
export async function readKeyNames(
  database: Queryable,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query(selectKeyNames, [keyIds]);
  return new Map(rows.map(({ key_id: keyId, name }) => [keyId, name]));
}

/** Without removed servers, oldest first. */
export async function readServers(
  database: Queryable,
  organizationId: string,
  range: RowRange,
): Promise<ServerEntry[]> {
  return (await database.query(selectServersOf, [organizationId, range.limit, range.offset])).map(serverFromRow);
}

export async function countServers(database: Queryable, organizationId: string): Promise<number> {
  return (await database.query(countServersOf, [organizationId]))[0]?.total ?? 0;
}

/** Null: removed, or not in the organization. */
export async function readServer(
  database: Queryable,
  organizationId: string,
  serverId: string,
): Promise<ServerEntry | null> {
  const [row] = await database.query(selectServerOf, [serverId, organizationId]);
  return row ? serverFromRow(row) : null;
}

/** Sets and announces a status; false: unchanged, or no such server. */
export async function setServerStatus(
  tx: OutboxTransaction,
  organizationId: string,
  serverId: string,
  status: "active" | "disabled",
): Promise<boolean> {
  const [row] = await tx.query(setServerStatusRow, [serverId, organizationId, status]);
  if (row) enqueueEntry(tx, serverEntryFromRow(row));
  return row !== undefined;
}

/** Adds or changes a server, and announces it. Null: the id belongs to another organization. */
export async function upsertServer(
  tx: OutboxTransaction,
  server: NewServer,
  nowMs: number,
): Promise<RegisteredServer | null> {
  const { serverId, organizationId, tradingServerUrl, configuration, sealedToken } = server;
  const sealed = sealedToken === undefined ? null : JSON.stringify(sealedToken);
  const values = [serverId, organizationId, tradingServerUrl, JSON.stringify(configuration), sealed, toIso(nowMs)];
  const [before] = await tx.query(lockServerRow, [serverId]);
  const [row] = await tx.query(upsertServerRow, values);
  if (!row) return null;
  enqueueEntry(tx, serverEntryFromRow(row));
  return { server: serverFromRow(row), before: before === undefined ? null : serverEntryFromRow(before) };
}

export async function setPrices(tx: OutboxTransaction, prices: Prices): Promise<void> {
  const [row] = await tx.query(upsertPricesRow, [JSON.stringify(prices)]);
  if (row) enqueueEntry(tx, pricesFromRow(row));
}

/** All entries, some hundred at a time. */
export async function* readDirectory(database: Database): AsyncGenerator<DirectoryEntry[]> {
  const prices = await database.query(selectPricesRows, []);
  yield prices.map(pricesFromRow);
  for await (const rows of database.stream(selectServerRows, [], ROWS_PER_READ)) yield rows.map(serverEntryFromRow);
  for await (const rows of database.stream(selectKeyRows, [], ROWS_PER_READ)) yield rows.map(keyFromRow);
}

function enqueueEntry(tx: OutboxTransaction, entry: DirectoryEntry): void {
  enqueue(tx, TOPICS.organizationDirectory, directoryKey(entry), JSON.stringify(entry));
}

function pricesFromRow({ prices, version }: PricesRow): PricesEntry {
  return { kind: "prices", version, prices };
}

function keyFromRow(row: KeyRow): KeyEntry {
  return {
    kind: "key",
    version: row.version,
    keyId: row.key_id,
    organizationId: row.organization_id,
    secretHash: row.secret_hash,
    scopes: row.scopes,
    serverIds: row.server_ids,
    expiresAt: row.expires_at === null ? null : row.expires_at.toISOString(),
    status: row.status,
    rateLimit: row.rate_limit,
  };
}

function managementKeyFromRow(row: KeyRow): ManagementKey {
  const { kind: _kind, version: _version, secretHash: _secretHash, ...key } = keyFromRow(row);
  return {
    ...key,
    name: row.name,
    createdAt: row.created_at.toISOString(),
    revokedAt: row.revoked_at === null ? null : row.revoked_at.toISOString(),
  };
}

/** With its token. */
function serverEntryFromRow(row: ServerRow): ServerEntry {
  return { ...serverFromRow(row), ...(row.sealed_token === null ? {} : { sealedToken: row.sealed_token }) };
}

/** Without its token. */
function serverFromRow(row: ServerRow): ServerEntry {
  return {
    kind: "server",
    version: row.version,
    serverId: row.server_id,
    organizationId: row.organization_id,
    status: row.status,
    tradingServerUrl: row.trading_server_url,
    configuration: row.configuration,
  };
}
