import type { RedisConnection } from "./connection.ts";
import { type Tag, metaKey, reservedKey, revokedField, settledKey, tagOf, walletKey } from "./keys.ts";
import { type WalletState, arrayReply, walletReply } from "./replies.ts";

/** How long Redis remembers that a settlement or purchase was applied; the ledger judges later repeats. */
export const SETTLED_TTL_MS = 7 * 24 * 3_600_000;
/** Most settlements handed to one function call, so that none holds Redis for long. */
const MAX_SETTLEMENTS_PER_CALL = 200;

/** How the reservation of a command ends, as the ledger recorded it. */
export interface SettlementRequest {
  readonly organizationId: string;
  readonly chargeId: string;
  readonly credits: number;
  readonly action: "consume" | "release";
  /** The tag's epoch under which the ledger recorded the leg: below the epoch of the opening, its wallets include it. */
  readonly epoch: number;
}

/**
 * `done`: applied, now or before. `included`: the wallets were set from a ledger that had it. `closed`: the tag is closed; ask
 * again. `no_wallet`: the organization has none in Redis.
 */
export type SettlementReply = "done" | "included" | "closed" | "no_wallet";

/**
 * Settles reservations, each once: reserved credits become consumed or available again. A reservation that Redis does not
 * know (its entry was lost with an earlier run) is consumed from the available credits, as the ledger does it, below zero if
 * it must; its release changes nothing. Answers in the order asked.
 */
export async function settle(
  redis: RedisConnection,
  settlements: readonly SettlementRequest[],
): Promise<SettlementReply[]> {
  const replies: SettlementReply[] = Array.from({ length: settlements.length }, () => "closed");
  const byTag = Map.groupBy(settlements.keys(), (index) => tagOf(settlements[index]?.organizationId ?? ""));
  const calls: Promise<void>[] = [];
  for (const [tag, indexes] of byTag) {
    for (let from = 0; from < indexes.length; from += MAX_SETTLEMENTS_PER_CALL) {
      calls.push(settleInTag(redis, tag, indexes.slice(from, from + MAX_SETTLEMENTS_PER_CALL), settlements, replies));
    }
  }
  await Promise.all(calls);
  return replies;
}

async function settleInTag(
  redis: RedisConnection,
  tag: Tag,
  indexes: readonly number[],
  settlements: readonly SettlementRequest[],
  replies: SettlementReply[],
): Promise<void> {
  const keys = [metaKey(tag)];
  const args: (string | number)[] = [SETTLED_TTL_MS];
  for (const index of indexes) {
    const settlement = settlements[index];
    if (!settlement) continue;
    const { organizationId, chargeId } = settlement;
    keys.push(walletKey(tag, organizationId), reservedKey(tag, organizationId), settledKey(tag, chargeId));
    args.push(chargeId, settlement.credits, settlement.action, settlement.epoch);
  }
  const [status, outcomes] = arrayReply(await redis.call("kapi_settle", keys, args));
  if (status === "CLOSED") return;
  for (const [at, outcome] of arrayReply(outcomes).entries()) {
    const index = indexes[at];
    if (index !== undefined) replies[index] = outcome as SettlementReply;
  }
}

/** Credits that an organization bought, as the ledger recorded them. The first purchase makes the wallet. */
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
  const tag = tagOf(request.organizationId);
  const keys = [metaKey(tag), walletKey(tag, request.organizationId), settledKey(tag, request.purchaseId)];
  const { credits, epoch, walletId, lowBalanceThreshold, createdAtMs } = request;
  const reply = await redis.call("kapi_purchase", keys, [
    credits,
    epoch,
    SETTLED_TTL_MS,
    walletId,
    lowBalanceThreshold,
    createdAtMs,
  ]);
  return reply === "CLOSED" ? "closed" : (reply as SettlementReply);
}

/** A wallet as Redis has it; `closed`: its tag is closed; `no_wallet`: the organization has none. */
export type WalletReply =
  | { readonly kind: "closed" | "no_wallet" }
  | { readonly kind: "wallet"; readonly wallet: WalletState };

/** Reads a wallet; nothing is charged for it. */
export async function readWallet(redis: RedisConnection, organizationId: string): Promise<WalletReply> {
  const tag = tagOf(organizationId);
  const keys = [metaKey(tag), walletKey(tag, organizationId)];
  return walletReplyOf(organizationId, await redis.call("kapi_wallet", keys, []));
}

/** Sets a wallet's low-balance threshold, in credits; answers with the wallet as it is now. */
export async function setLowBalanceThreshold(
  redis: RedisConnection,
  organizationId: string,
  credits: number,
): Promise<WalletReply> {
  const tag = tagOf(organizationId);
  const keys = [metaKey(tag), walletKey(tag, organizationId)];
  return walletReplyOf(organizationId, await redis.call("kapi_wallet", keys, [credits]));
}

function walletReplyOf(organizationId: string, reply: unknown): WalletReply {
  const [kind, wallet] = arrayReply(reply);
  if (kind === "WALLET") return { kind: "wallet", wallet: walletReply(organizationId, wallet) };
  return { kind: kind === "NO_WALLET" ? "no_wallet" : "closed" };
}

/** A wallet with its open reservations, as the ledger knows them. */
export interface OpeningWallet extends WalletState {
  readonly reservations: readonly { readonly chargeId: string; readonly credits: number }[];
}

/**
 * Sets the wallets of a closed tag and opens it, in one step; does nothing (`already`) where it is open. `epoch` must be
 * above that of every ledger leg that the wallets include, and not above that of any they do not.
 */
export async function openTag(
  redis: RedisConnection,
  tag: Tag,
  epoch: number,
  wallets: readonly OpeningWallet[],
): Promise<"opened" | "already"> {
  const keys = [metaKey(tag)];
  const args: (string | number)[] = [epoch];
  for (const wallet of wallets) {
    keys.push(walletKey(tag, wallet.organizationId), reservedKey(tag, wallet.organizationId));
    args.push(wallet.id, wallet.available, wallet.reserved, wallet.consumed, wallet.purchased);
    args.push(wallet.lowBalanceThreshold, wallet.createdAtMs, wallet.updatedAtMs, wallet.reservations.length);
    for (const reservation of wallet.reservations) args.push(reservation.chargeId, reservation.credits);
  }
  return (await redis.call("kapi_open_tag", keys, args)) === "already" ? "already" : "opened";
}

/** Which of `tags` are closed: opened on another run of Redis, or never. */
export async function closedTags(redis: RedisConnection, tags: readonly Tag[]): Promise<Tag[]> {
  const states = await Promise.all(tags.map((tag) => redis.call("kapi_tag_state", [metaKey(tag)], [])));
  return tags.filter((_, index) => states[index] !== 1);
}

/** Refuses a key at once, before its directory entry has reached every gateway. */
export async function revokeKey(redis: RedisConnection, organizationId: string, keyId: string): Promise<void> {
  await redis.commands.hset(metaKey(tagOf(organizationId)), revokedField(keyId), "1");
}
