import { hash } from "node:crypto";

import { LRUCache } from "lru-cache";

/**
 * Number of wallet shards. It never changes, because every key name depends on it. All keys of a
 * shard have one Redis hash tag. Functions of Redis, and tables, call a shard `tag`.
 */
export const SHARD_COUNT = 64;

/** Number of a wallet shard, 0 to {@link SHARD_COUNT} - 1. */
export type Shard = number;

/** Every wallet shard, in order. */
export const ALL_SHARDS: readonly Shard[] = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

/** Maximum number of organizations whose shards are cached, about 150 bytes each. */
const MAX_KNOWN_SHARDS = 10_000;
/** Every call needs a shard. Without this cache, the hash is most of the cost of the key names. */
const knownShards = new LRUCache<string, Shard>({
  max: MAX_KNOWN_SHARDS,
  memoMethod: (organizationId) => hash("sha256", organizationId, "buffer").readUInt8(0) % SHARD_COUNT,
});

/**
 * The wallet shard of an organization: the first byte of the SHA-256 of its id, modulo {@link
 * SHARD_COUNT}.
 */
export function shardOf(organizationId: string): Shard {
  return knownShards.memo(organizationId);
}

/** The hash tag `{bNN}`, which decides on which node of a cluster a key is. */
export function hashTag(shard: Shard): string {
  return `{b${shard.toString().padStart(2, "0")}}`;
}

/**
 * Hash: the replication id, the run id and the epoch of the last sync; a running sync; the revoked
 * keys.
 */
export const metaKey = (shard: Shard): string => `${hashTag(shard)}:meta`;
/** Stream of usage entries on their way to the ledger. */
export const usageKey = (shard: Shard): string => `${hashTag(shard)}:usage`;
/**
 * Field of {@link metaKey}: the management key is revoked. The field is in `meta`, so that one read
 * returns it together with the state of the shard.
 */
export const revokedField = (keyId: string): string => `revoked:${keyId}`;
/** Hash: the wallet of an organization. */
export const walletKey = (shard: Shard, organizationId: string): string => `${hashTag(shard)}:wallet:${organizationId}`;
/** Hash: charge id to credits, for each open reservation of an organization. */
export const reservedKey = (shard: Shard, organizationId: string): string =>
  `${hashTag(shard)}:reserved:${organizationId}`;
/** Hash: token bucket of a management key, or of a person (`user/<id>`). */
export const bucketKey = (shard: Shard, callerName: string): string => `${hashTag(shard)}:bucket:${callerName}`;
/**
 * The reply to one admission, which a repeated call gets again. Or a mark: an idempotency record of
 * the request was open, or the charge was refunded.
 */
export const chargeKey = (shard: Shard, chargeId: string): string => `${hashTag(shard)}:charge:${chargeId}`;
/** Hash: the idempotency record of a command id. */
export const recordKey = (shard: Shard, commandId: string): string => `${hashTag(shard)}:claim:${commandId}`;
/** Marker: the settlement of this reservation, or this purchase, was applied to the wallet. */
export const settledKey = (shard: Shard, chargeId: string): string => `${hashTag(shard)}:settled:${chargeId}`;
