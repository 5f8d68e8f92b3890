import type { RedisConnection } from "@kapi/redis";
import { type Shard, metaKey, reservedKey, revokedField, settledKey, shardOf, walletKey } from "./keys.ts";
import { arrayReply } from "@kapi/redis";
import { type WalletState, walletReply } from "./wallet-state.ts";
import { callPerShard, type ShardReplies } from "./shard-replies.ts";

/**
 * How long Redis remembers that a settlement was applied. That takes 130 bytes per command, 1 GB at
 * 1,000 commands/s. For later repeats the caller sets {@link SettlementRequest.isOld}.
 */
export const SETTLED_TTL_MS = 2 * 3_600_000;
/** How long Redis remembers that a purchase was applied. Longer, because purchases are few. */
export const PURCHASED_TTL_MS = 7 * 24 * 3_600_000;
/** Maximum number of settlements per function call, so that no call blocks Redis for long. */
const MAX_SETTLEMENTS_PER_CALL = 200;

/** The settlement of a reservation, as the ledger recorded it. */
export interface SettlementRequest {
  readonly organizationId: string;
  readonly chargeId: string;
  readonly credits: number;
  readonly action: "consume" | "release";
  /**
   * Whether the settlement may have been applied longer ago than {@link SETTLED_TTL_MS}. It is then
   * applied only if its reservation still exists: an applied settlement leaves no reservation.
   */
  readonly isOld?: boolean;
  /**
   * The shard's epoch when the ledger recorded the entry. If it is below the epoch of the sync, the
   * wallets of the sync include the entry.
   */
  readonly epoch: number;
}

/**
 * `done`: applied, now or before. `included`: the wallets were set from a ledger that had the
 * settlement. `unsynced`: the shard is unsynced; retry. `no_wallet`: the organization has no wallet
 * in Redis. `unreachable`: the node of the shard did not answer; it is unknown whether the
 * settlement is applied, and a repeat is safe.
 */
export type SettlementReply = "done" | "included" | "unsynced" | "no_wallet" | "unreachable";

/**
 * Settles reservations, each once: reserved credits become consumed or available again. If Redis
 * does not know the reservation of a settlement that is not old, Redis lost this reservation, and
 * lost its entry in the usage stream before the organization service read that entry. A consumption
 * is then taken from the available credits, even below zero; a release changes nothing. The ledger
 * does the same. Replies are in the order
 * of `settlements`. Never rejects: if a call fails, its settlements are `unreachable`, and `failed`
 * gets the error.
 */
export async function settle(
  redis: RedisConnection,
  settlements: readonly SettlementRequest[],
  failed: (error: unknown) => void = () => undefined,
): Promise<SettlementReply[]> {
  const replies: SettlementReply[] = Array.from({ length: settlements.length }, () => "unreachable");
  const byCall = Map.groupBy(settlements.keys(), (index) => {
    const { organizationId = "", isOld = false } = settlements[index] ?? {};
    return `${shardOf(organizationId)}/${isOld ? "kapi_settle_again" : "kapi_settle"}`;
  });
  const calls: Promise<void>[] = [];
  for (const indexes of byCall.values()) {
    for (let from = 0; from < indexes.length; from += MAX_SETTLEMENTS_PER_CALL) {
      const part = indexes.slice(from, from + MAX_SETTLEMENTS_PER_CALL);
      calls.push(settleInShard(redis, part, settlements, replies).catch(failed));
    }
  }
  await Promise.all(calls);
  return replies;
}

/** Settles reservations of one shard: either all settlements are old, or none is. */
async function settleInShard(
  redis: RedisConnection,
  indexes: readonly number[],
  settlements: readonly SettlementRequest[],
  replies: SettlementReply[],
): Promise<void> {
  const first = settlements[indexes[0] ?? -1];
  const shard = shardOf(first?.organizationId ?? "");
  const keys = [metaKey(shard)];
  const args: (string | number)[] = [SETTLED_TTL_MS];
  for (const index of indexes) {
    const settlement = settlements[index];
    if (!settlement) continue;
    const { organizationId, chargeId } = settlement;
    keys.push(walletKey(shard, organizationId), reservedKey(shard, organizationId), settledKey(shard, chargeId));
    args.push(chargeId, settlement.credits, settlement.action, settlement.epoch);
  }
  const [status, outcomes] = arrayReply(
    await redis.call(first?.isOld === true ? "kapi_settle_again" : "kapi_settle", keys, args),
  );
  const outcomeOf = status === "CLOSED" ? null : arrayReply(outcomes);
  for (const [at, index] of indexes.entries()) {
    replies[index] = outcomeOf === null ? "unsynced" : (outcomeOf[at] as SettlementReply);
  }
}

/**
 * Credits that an organization bought, as the ledger recorded them. The first purchase creates the
 * wallet.
 */
export interface PurchaseRequest {
  readonly organizationId: string;
  readonly purchaseId: string;
  readonly credits: number;
  /** See {@link SettlementRequest.epoch}. */
  readonly epoch: number;
  readonly walletId: string;
  readonly lowBalanceThreshold: number;
  readonly createdAtMs: number;
}

/** Adds bought credits to the wallet, once per purchase id. */
export async function purchase(redis: RedisConnection, request: PurchaseRequest): Promise<SettlementReply> {
  const shard = shardOf(request.organizationId);
  const keys = [metaKey(shard), walletKey(shard, request.organizationId), settledKey(shard, request.purchaseId)];
  const { credits, epoch, walletId, lowBalanceThreshold, createdAtMs } = request;
  const reply = await redis.call("kapi_purchase", keys, [
    credits,
    epoch,
    PURCHASED_TTL_MS,
    walletId,
    lowBalanceThreshold,
    createdAtMs,
  ]);
  return reply === "CLOSED" ? "unsynced" : (reply as SettlementReply);
}

/**
 * A wallet in Redis. `unsynced`: its shard is unsynced. `no_wallet`: the organization has no
 * wallet.
 */
export type WalletReply =
  | { readonly kind: "unsynced" | "no_wallet" }
  | { readonly kind: "wallet"; readonly wallet: WalletState };

/** Reads a wallet; costs no credits. */
export async function readWallet(redis: RedisConnection, organizationId: string): Promise<WalletReply> {
  const shard = shardOf(organizationId);
  const keys = [metaKey(shard), walletKey(shard, organizationId)];
  return walletReplyOf(organizationId, await redis.call("kapi_wallet", keys, []));
}

/** Sets a wallet's low-balance threshold, in credits; returns the changed wallet. */
export async function setLowBalanceThreshold(
  redis: RedisConnection,
  organizationId: string,
  credits: number,
): Promise<WalletReply> {
  const shard = shardOf(organizationId);
  const keys = [metaKey(shard), walletKey(shard, organizationId)];
  return walletReplyOf(organizationId, await redis.call("kapi_wallet", keys, [credits]));
}

function walletReplyOf(organizationId: string, reply: unknown): WalletReply {
  const [kind, wallet] = arrayReply(reply);
  if (kind === "WALLET") return { kind: "wallet", wallet: walletReply(organizationId, wallet) };
  return { kind: kind === "NO_WALLET" ? "no_wallet" : "unsynced" };
}

/** A wallet with its open reservations, from the ledger. */
export interface SyncedWallet extends WalletState {
  readonly reservations: readonly { readonly chargeId: string; readonly credits: number }[];
}

/**
 * Maximum number of wallets and reservations, together, per call of a sync. A call with 250 of them
 * blocks Redis for 4 ms at the median on two busy cores, a call with 1,000 for 15 ms
 * (`npm run bench -- opening`).
 */
const MAX_ENTRIES_PER_SYNC_CALL = 250;

/**
 * Sets the wallets of an unsynced shard and makes it ready, in one or several calls. The shard is
 * ready only after the last call. `epoch` must be above the epoch of every ledger entry that the
 * wallets include, and at most the epoch of every other entry. Wallets may come in batches, and a
 * batch may begin with further reservations of the last wallet of the previous batch.
 *
 * `already`: the shard is ready. `overtaken`: this sync was not completed, because a sync with a
 * higher epoch has begun, a sync with this or a higher epoch was completed before, or Redis failed
 * over meanwhile. After `overtaken`, check again whether the shard is unsynced.
 */
export async function syncShard(
  redis: RedisConnection,
  shard: Shard,
  epoch: number,
  wallets: readonly SyncedWallet[] | AsyncIterable<readonly SyncedWallet[]>,
  maxEntriesPerCall: number = MAX_ENTRIES_PER_SYNC_CALL,
): Promise<"synced" | "already" | "overtaken"> {
  const batches = Symbol.asyncIterator in wallets ? wallets : [wallets];
  let [isFirst, isLast] = [true, false];
  const send = ({ keys, args }: SyncPart): Promise<unknown> => {
    const call = [epoch, isFirst ? "1" : "0", isLast ? "1" : "0", ...args];
    isFirst = false;
    return redis.call("kapi_open_tag_part", [metaKey(shard), ...keys], call);
  };
  let part: SyncPart = { keys: [], args: [] };
  let isBegun = false;
  for await (const next of syncParts(shard, batches, maxEntriesPerCall)) {
    const reply = isBegun ? await send(part) : "filled";
    if (reply === "already" || reply === "overtaken") return reply;
    part = next;
    isBegun = true;
  }
  isLast = true;
  const reply = await send(part);
  return reply === "opened" ? "synced" : (reply as "already" | "overtaken");
}

/**
 * The result of {@link markUnsynced}. `synced_since`: the shard was synced with a higher epoch, and
 * is not changed. `unsynced`: this call marked the shard. `already`: the shard was marked before,
 * or was never synced.
 */
export type MarkedUnsynced = "synced_since" | "unsynced" | "already";

/**
 * Makes a shard unsynced unless it was synced with an epoch above `epoch`. Requests of its
 * organizations are rejected until {@link syncShard}.
 */
export async function markUnsynced(redis: RedisConnection, shard: Shard, epoch: number): Promise<MarkedUnsynced> {
  const synced = await redis.commands.hget(metaKey(shard), "epoch");
  // If a sync completes between the two calls, the shard is made unsynced all the same. This only
  // costs another sync.
  if (synced !== null && Number(synced) > epoch) return "synced_since";
  return (await redis.commands.hdel(metaKey(shard), "replication", "run")) > 0 ? "unsynced" : "already";
}

interface SyncPart {
  readonly keys: string[];
  readonly args: (string | number)[];
}

/**
 * Divides a sync into calls. A wallet with more reservations than fit into a call continues in the
 * next call, without its id.
 */
async function* syncParts(
  shard: Shard,
  batches: Iterable<readonly SyncedWallet[]> | AsyncIterable<readonly SyncedWallet[]>,
  maxEntries: number,
): AsyncGenerator<SyncPart, void, undefined> {
  let part: SyncPart = { keys: [], args: [] };
  let room = maxEntries;
  let lastId: string | null = null;
  for await (const batch of batches) {
    for (const wallet of batch) {
      let left: SyncedWallet["reservations"] = wallet.reservations;
      let isBegun = wallet.organizationId === lastId;
      lastId = wallet.organizationId;
      while (!isBegun || left.length > 0) {
        if (room < 1) {
          yield part;
          part = { keys: [], args: [] };
          room = maxEntries;
        }
        const now = left.slice(0, room - 1 || 1);
        left = left.slice(now.length);
        room -= now.length + 1;
        part.keys.push(walletKey(shard, wallet.organizationId), reservedKey(shard, wallet.organizationId));
        part.args.push(...(isBegun ? CONTINUED : syncFields(wallet)), now.length);
        for (const { chargeId, credits } of now) part.args.push(chargeId, credits);
        isBegun = true;
      }
    }
  }
  yield part;
}

/** Sent instead of the fields of a wallet if an earlier call has set them. */
const CONTINUED = ["", "", "", "", "", "", "", ""];

function syncFields(wallet: SyncedWallet): (string | number)[] {
  const sums = [wallet.available, wallet.reserved, wallet.consumed, wallet.purchased];
  return [wallet.id, ...sums, wallet.lowBalanceThreshold, wallet.createdAtMs, wallet.updatedAtMs];
}

/**
 * Which shards are unsynced (marked by {@link markUnsynced}, synced under another replication id,
 * or never synced), and which shards do not answer.
 */
export interface ShardStates extends Pick<ShardReplies<unknown>, "unreachable" | "error"> {
  readonly unsynced: Shard[];
}

/** Reads the state of each shard separately, because the node of a shard may be down. */
export async function shardStates(redis: RedisConnection, shards: readonly Shard[]): Promise<ShardStates> {
  const { replies, unreachable, error } = await callPerShard(shards, (shard) =>
    redis.call("kapi_look_at_tag", [metaKey(shard)], []),
  );
  return { unsynced: shards.filter((shard) => replies.has(shard) && replies.get(shard) !== 1), unreachable, error };
}

/** Which of `shards` are unsynced. Throws if a shard does not answer. */
export async function unsyncedShards(redis: RedisConnection, shards: readonly Shard[]): Promise<Shard[]> {
  const { unsynced, unreachable, error } = await shardStates(redis, shards);
  if (unreachable.length > 0) throw error;
  return unsynced;
}

/** Rejects a key at once, before its directory entry has reached every gateway. */
export async function revokeKey(redis: RedisConnection, organizationId: string, keyId: string): Promise<void> {
  await redis.commands.hset(metaKey(shardOf(organizationId)), revokedField(keyId), "1");
}
