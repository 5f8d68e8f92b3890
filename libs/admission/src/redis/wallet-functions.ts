import type { RedisConnection } from "@kapi/redis";
import { type Shard, metaKey, reservedKey, revokedField, settledKey, shardOf, walletKey } from "./keys.ts";
import { arrayReply } from "@kapi/redis";
import { type WalletState, walletReply } from "./wallet-state.ts";
import { callPerShard, type ShardReplies } from "./shard-replies.ts";

/**
 * How long Redis remembers that a settlement was applied: 130 bytes per command, 1 GB at 1,000
 * commands/s. For later repeats the caller sets {@link SettlementRequest.isOld}.
 */
export const SETTLED_TTL_MS = 2 * 3_600_000;
/** The same for purchases, which are few. */
export const PURCHASED_TTL_MS = 7 * 24 * 3_600_000;
/** Maximum number of settlements per function call, so that no call blocks Redis for long. */
const MAX_SETTLEMENTS_PER_CALL = 200;

/** How the reservation of a command ends, as the ledger recorded it. */
export interface SettlementRequest {
  readonly organizationId: string;
  readonly chargeId: string;
  readonly credits: number;
  readonly action: "consume" | "release";
  /**
   * Whether it may have been applied longer ago than {@link SETTLED_TTL_MS}: then it is applied
   * only where its reservation is still there. An applied settlement leaves none.
   */
  readonly isOld?: boolean;
  /**
   * The shard's epoch under which the ledger recorded the entry: below the epoch of the sync, its
   * wallets include it.
   */
  readonly epoch: number;
}

/**
 * `done`: applied, now or before. `included`: the wallets were set from a ledger that had it.
 * `unsynced`: the shard is unsynced; ask again. `no_wallet`: the organization has none in Redis.
 * `unreachable`: the node of the shard did not answer; whether it is applied is not known, and a
 * repeat is safe.
 */
export type SettlementReply = "done" | "included" | "unsynced" | "no_wallet" | "unreachable";

/**
 * Settles reservations, each once: reserved credits become consumed or available again. A
 * reservation that Redis does not know (its entry was lost with an earlier run) is consumed from
 * the available credits, as the ledger does it, below zero if it must; its release changes nothing.
 * Answers in the order asked, and never rejects: of a call that fails the settlements are
 * `unreachable`, and the reason is given to `failed`.
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

/** Settlements of one shard, all old or none. */
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
 * Credits that an organization bought, as the ledger recorded them. The first purchase makes the
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
 * A wallet as Redis has it; `unsynced`: its shard is unsynced; `no_wallet`: the organization has
 * none.
 */
export type WalletReply =
  | { readonly kind: "unsynced" | "no_wallet" }
  | { readonly kind: "wallet"; readonly wallet: WalletState };

/** Reads a wallet; nothing is charged for it. */
export async function readWallet(redis: RedisConnection, organizationId: string): Promise<WalletReply> {
  const shard = shardOf(organizationId);
  const keys = [metaKey(shard), walletKey(shard, organizationId)];
  return walletReplyOf(organizationId, await redis.call("kapi_wallet", keys, []));
}

/** Sets a wallet's low-balance threshold, in credits; answers with the wallet as it is now. */
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

/** A wallet with its open reservations, as the ledger knows them. */
export interface SyncedWallet extends WalletState {
  readonly reservations: readonly { readonly chargeId: string; readonly credits: number }[];
}

/**
 * Maximum number of wallets and reservations, together, per call of a sync: 4 ms of Redis at the
 * median on two busy cores, where 1,000 took 15 ms (`npm run bench:opening`).
 */
const MAX_ENTRIES_PER_SYNC_CALL = 250;

/**
 * Sets the wallets of an unsynced shard and makes it ready, in as many calls as it takes; nobody
 * sees it ready before the last one. `epoch` must be above that of every ledger entry that the
 * wallets include, and not above that of any they do not. Wallets may come in batches, and a batch
 * may begin with more reservations of the wallet that the one before ended with. `already`: it is
 * ready. `overtaken`: a sync with a higher epoch is under way or was completed before the shard was
 * unsynced again, or Redis failed over meanwhile; look again whether the shard is unsynced.
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
 * What {@link markUnsynced} did: the shard was synced with a later epoch and stays ready, is
 * unsynced by this call, or was unsynced before.
 */
export type MarkedUnsynced = "synced_since" | "unsynced" | "already";

/**
 * Makes a shard unsynced unless it was synced with an epoch above `epoch`. Its organizations are
 * rejected until {@link syncShard}.
 */
export async function markUnsynced(redis: RedisConnection, shard: Shard, epoch: number): Promise<MarkedUnsynced> {
  const synced = await redis.commands.hget(metaKey(shard), "epoch");
  // A sync between the two calls is repeated, which does no harm.
  if (synced !== null && Number(synced) > epoch) return "synced_since";
  return (await redis.commands.hdel(metaKey(shard), "replication", "run")) > 0 ? "unsynced" : "already";
}

interface SyncPart {
  readonly keys: string[];
  readonly args: (string | number)[];
}

/**
 * Divides a sync: a wallet with more reservations than a call may set goes on in the next one,
 * under no id.
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

/** In place of the fields of a wallet whose first part was set by the call before. */
const CONTINUED = ["", "", "", "", "", "", "", ""];

function syncFields(wallet: SyncedWallet): (string | number)[] {
  const sums = [wallet.available, wallet.reserved, wallet.consumed, wallet.purchased];
  return [wallet.id, ...sums, wallet.lowBalanceThreshold, wallet.createdAtMs, wallet.updatedAtMs];
}

/**
 * Which of `shards` are unsynced (synced under another replication id, or never), and which nobody
 * answers for.
 */
export interface ShardStates extends Pick<ShardReplies<unknown>, "unreachable" | "error"> {
  readonly unsynced: Shard[];
}

/** Asks each shard separately, because the node of one may be down. */
export async function shardStates(redis: RedisConnection, shards: readonly Shard[]): Promise<ShardStates> {
  const { replies, unreachable, error } = await callPerShard(shards, (shard) =>
    redis.call("kapi_look_at_tag", [metaKey(shard)], []),
  );
  return { unsynced: shards.filter((shard) => replies.has(shard) && replies.get(shard) !== 1), unreachable, error };
}

/** Which of `shards` are unsynced. Throws where one of them cannot be asked for. */
export async function unsyncedShards(redis: RedisConnection, shards: readonly Shard[]): Promise<Shard[]> {
  const { unsynced, unreachable, error } = await shardStates(redis, shards);
  if (unreachable.length > 0) throw error;
  return unsynced;
}

/** Rejects a key at once, before its directory entry has reached every gateway. */
export async function revokeKey(redis: RedisConnection, organizationId: string, keyId: string): Promise<void> {
  await redis.commands.hset(metaKey(shardOf(organizationId)), revokedField(keyId), "1");
}
