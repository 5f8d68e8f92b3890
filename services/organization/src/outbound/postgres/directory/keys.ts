import type { KeyEntry } from "@kapi/contracts";
import { assertDefined, toIso } from "@kapi/kernel";
import type { OutboxTransaction } from "@kapi/outbox";
import { type Database, type Queryable, statement } from "@kapi/postgres";

import type { ManagementKey } from "../../../domain/directory/management-key.ts";
import type { DirectoryStore, DirectoryTransaction } from "../../../domain/directory/ports.ts";
import { announce } from "./announce.ts";
import { readPage } from "./pages.ts";

const ROWS_PER_READ = 500;

interface KeyRow extends Omit<KeyEntry, "kind" | "expiresAt"> {
  readonly expiresAt: Date | null;
  readonly name: string;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

const ROW = `key_id as "keyId", organization_id as "organizationId", secret_hash as "secretHash", scopes,
  server_ids as "serverIds", expires_at as "expiresAt", status, rate_limit as "rateLimit", allowed_networks as "allowedNetworks", version, name,
  created_at as "createdAt", revoked_at as "revokedAt"`;

const INSERT_KEY_ROW = statement<KeyRow>(
  "directory_insert_key",
  `insert into management_keys (key_id, organization_id, secret_hash, scopes, server_ids, expires_at, rate_limit, name,
     created_at, allowed_networks, status, version)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'active', 1) returning ${ROW}`,
);
// Concurrent creations wait for the lock, so each counts the keys of those before it.
const LOCK_ORGANIZATION = statement(
  "directory_lock_organization",
  `select 1 from organizations where id = $1 for update`,
);
const COUNT_USABLE_KEYS = statement<{ active: number; total: number }>(
  "directory_count_usable_keys",
  `select count(*) filter (where status = 'active' and (expires_at is null or expires_at > $2)) as active,
     count(*) as total
   from management_keys where organization_id = $1`,
);
const REVOKE_KEY_ROW = statement<KeyRow>(
  "directory_revoke_key",
  `update management_keys set status = 'revoked', version = version + 1, revoked_at = $3
   where key_id = $1 and organization_id = coalesce($2, organization_id) and status = 'active' returning ${ROW}`,
);
const SELECT_KEY_ROW = statement<KeyRow>(
  "directory_select_key",
  `select ${ROW} from management_keys where key_id = $1 and organization_id = coalesce($2, organization_id)`,
);
const KEYS_OF_ORGANIZATION = {
  select: statement<KeyRow>(
    "directory_select_keys_of",
    `select ${ROW} from management_keys where organization_id = $1
     order by status = 'active' desc, created_at desc, key_id limit $2 offset $3`,
  ),
  count: statement<{ total: number }>(
    "directory_count_keys_of",
    `select count(*) as total from management_keys where organization_id = $1`,
  ),
  from: managementKeyOf,
};
const SELECT_KEY_NAMES = statement<{ keyId: string; name: string }>(
  "directory_select_key_names",
  `select key_id as "keyId", name from management_keys where key_id = any($1::text[])`,
);
const SELECT_KEY_ROWS = statement<KeyRow>("directory_select_keys", `select ${ROW} from management_keys`);

/** Reads of management keys, without the hashes of their secrets. */
export function keyStore(database: Queryable): Pick<DirectoryStore, "readKeys" | "readKeyNames"> {
  return {
    readKeys: (organizationId, page) => readPage(database, KEYS_OF_ORGANIZATION, [organizationId], page),
    readKeyNames: async (keyIds) =>
      new Map((await database.query(SELECT_KEY_NAMES, [keyIds])).map(({ keyId, name }) => [keyId, name])),
  };
}

/** The keys' part of a transaction; each change is announced through the outbox. */
export function keyTransaction(
  tx: OutboxTransaction,
): Pick<DirectoryTransaction, "lockAndCountKeys" | "insertKey" | "revokeKey"> {
  return {
    lockAndCountKeys: async (organizationId, nowMs) => {
      await tx.query(LOCK_ORGANIZATION, [organizationId]);
      const [counts] = await tx.query(COUNT_USABLE_KEYS, [organizationId, toIso(nowMs)]);
      return assertDefined(counts, "the counts of keys");
    },
    insertKey: async (key, nowMs) => {
      const { keyId, organizationId, secretHash, scopes, serverIds, expiresAt, name } = key;
      const networks = key.allowedNetworks ?? null;
      const rateLimit = key.rateLimit === null ? null : JSON.stringify(key.rateLimit);
      const values = [
        keyId,
        organizationId,
        secretHash,
        scopes,
        serverIds,
        expiresAt,
        rateLimit,
        name,
        toIso(nowMs),
        networks,
      ];
      const inserted = assertDefined((await tx.query(INSERT_KEY_ROW, values))[0], "the key that was inserted");
      announce(tx, keyEntryOf(inserted));
      return managementKeyOf(inserted);
    },
    revokeKey: async (keyId, organizationId, nowMs) => {
      const [revoked] = await tx.query(REVOKE_KEY_ROW, [keyId, organizationId, toIso(nowMs)]);
      if (revoked) announce(tx, keyEntryOf(revoked));
      const [row] = revoked ? [revoked] : await tx.query(SELECT_KEY_ROW, [keyId, organizationId]);
      return row ? { key: managementKeyOf(row), isNew: revoked !== undefined } : null;
    },
  };
}

/** All keys with the hashes of their secrets, {@link ROWS_PER_READ} at a time. */
export async function* readKeyEntries(database: Database): AsyncGenerator<KeyEntry[]> {
  for await (const rows of database.stream(SELECT_KEY_ROWS, [], ROWS_PER_READ)) yield rows.map(keyEntryOf);
}

function keyEntryOf({ name: _name, createdAt: _created, revokedAt: _revoked, expiresAt, ...key }: KeyRow): KeyEntry {
  return { kind: "key", ...key, expiresAt: expiresAt?.toISOString() ?? null };
}

function managementKeyOf({ version: _version, secretHash: _secretHash, ...key }: KeyRow): ManagementKey {
  return {
    ...key,
    expiresAt: key.expiresAt?.toISOString() ?? null,
    createdAt: key.createdAt.toISOString(),
    revokedAt: key.revokedAt?.toISOString() ?? null,
  };
}
