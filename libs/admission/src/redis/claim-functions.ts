import { assert, assertDefined } from "@kapi/kernel";

import type { RedisConnection } from "@kapi/redis";
import {
  bucketKey,
  chargeKey,
  claimKey,
  metaKey,
  reservedKey,
  settledKey,
  type Shard,
  shardOf,
  usageKey,
  walletKey,
} from "./keys.ts";
import { arrayReply, numberReply, textReply } from "@kapi/redis";
import { type WalletState, walletReply } from "./wallet-state.ts";
import { callPerShard, type ShardReplies } from "./shard-replies.ts";
import { USAGE_STREAM_LIMIT } from "./usage-stream.ts";

/** A claim open for longer than this is taken over by the next equal request, and no 202 is sent for it (decisions, 2.6). */
export const CLAIM_OPEN_MS = 5_000;
/** How long a claim is kept while its command is not final: the log's retention is longer, a retry's patience shorter. */
export const CLAIM_TTL_MS = 24 * 3_600_000;
/** How long it is kept once its command is final, and command-status answers for it (decisions, 2.5). */
export const FINAL_CLAIM_TTL_MS = 3_600_000;
/** How long a repeated call with the same charge id is recognized; longer than any request lasts. */
export const CHARGE_TTL_MS = 120_000;

/** A claim on a command id. */
export interface ClaimRequest {
  readonly commandId: string;
  readonly fingerprint: string;
  /** The whole command message, JSON. */
  readonly message: string;
  /** Credits to reserve for it. */
  readonly credits: number;
}

/**
 * What became of a claim. `untouched`: another item of the call decided (mismatch or open), nothing
 * was claimed. `chargeId`: what the command's credits are reserved under, where that is not the
 * command's id: an earlier reservation of it came back.
 */
export type ClaimReply =
  | { readonly kind: "claimed"; readonly chargeId: string | null }
  | { readonly kind: "taken_over"; readonly message: string | null; readonly chargeId: string | null }
  | { readonly kind: "duplicate"; readonly message: string | null }
  | { readonly kind: "open"; readonly ageMs: number }
  | { readonly kind: "mismatch" }
  | { readonly kind: "untouched" };

export interface AdmitRequest {
  readonly keyId: string;
  readonly organizationId: string;
  readonly chargeId: string;
  readonly mode: "consume" | "reserve" | "free";
  /** Credits; for `consume`. */
  readonly price: number;
  /** Credits; for a `reserve` that claims nothing new. */
  readonly readPrice: number;
  readonly operation: string;
  readonly requestId: string;
  readonly rateLimit: { readonly perSecond: number; readonly burst: number } | null;
  readonly claims: readonly ClaimRequest[];
  /** Per claim, whether command-status knows the command, under the same fingerprint; none unless told. */
  readonly knownDuplicates?: readonly boolean[];
  /** The span of the request (W3C), where it is recorded: its usage entries name it. */
  readonly traceparent?: string | undefined;
  /** The network address that the request came from, where it is known: its usage entries name it. */
  readonly address?: string | undefined;
}

export type AdmitReply =
  | { readonly kind: "unsynced" | "revoked" | "no_wallet" | "unpaid" | "refunded" }
  | { readonly kind: "limited"; readonly retryAfterMs: number }
  | {
      readonly kind: "admitted";
      /**
       * Credits that this call consumed or reserved; of a taken-over claim those reserved by an
       * earlier request, if they are there.
       */
      readonly charged: number;
      readonly wallet: WalletState;
      readonly claims: readonly ClaimReply[];
    };

/** Settings that only tests change. */
export interface ClaimSettings {
  readonly claimOpenMs: number;
  readonly usageStreamLimit: number;
}

export const CLAIM_SETTINGS: ClaimSettings = {
  claimOpenMs: CLAIM_OPEN_MS,
  usageStreamLimit: USAGE_STREAM_LIMIT,
};

const REFUSALS = {
  CLOSED: "unsynced",
  REVOKED: "revoked",
  NO_WALLET: "no_wallet",
  UNPAID: "unpaid",
  REFUNDED: "refunded",
} as const;

/**
 * Admits requests whose organizations are of `shard`, one after the other in one call: shard ready, key
 * not revoked, rate limit, credits, claims, usage entries (architecture, 3.1). One reply per
 * request, in their order. A request repeated with the same charge id gets the first answer and is
 * charged once. Rejects when Redis is away.
 */
export async function admitAll(
  redis: RedisConnection,
  shard: Shard,
  requests: readonly AdmitRequest[],
  settings: ClaimSettings = CLAIM_SETTINGS,
): Promise<AdmitReply[]> {
  const keys = [metaKey(shard), usageKey(shard)];
  const args: (string | number)[] = [settings.claimOpenMs, CLAIM_TTL_MS, CHARGE_TTL_MS, settings.usageStreamLimit];
  for (const request of requests) {
    const { organizationId, claims, rateLimit } = request;
    assert(shardOf(organizationId) === shard, "a call is about organizations of one shard");
    keys.push(
      walletKey(shard, organizationId),
      bucketKey(shard, request.keyId),
      chargeKey(shard, request.chargeId),
      reservedKey(shard, organizationId),
    );
    args.push(request.keyId, organizationId, request.chargeId, request.mode, request.price, request.readPrice);
    args.push(request.operation, request.requestId, rateLimit?.perSecond ?? "", rateLimit?.burst ?? "");
    args.push(request.traceparent ?? "", request.address ?? "", claims.length);
    for (const [index, claim] of claims.entries()) {
      keys.push(claimKey(shard, claim.commandId), settledKey(shard, claim.commandId));
      args.push(claim.commandId, claim.fingerprint, claim.message, claim.credits);
      args.push(request.knownDuplicates?.[index] ? "1" : "0");
    }
  }
  const replies = arrayReply(await redis.call("kapi_admit_all", keys, args));
  return requests.map(({ organizationId }, index) => admitReply(organizationId, arrayReply(replies[index])));
}

/** Admits one request by itself; see {@link admitAll}. */
export async function admit(
  redis: RedisConnection,
  request: AdmitRequest,
  settings: ClaimSettings = CLAIM_SETTINGS,
): Promise<AdmitReply> {
  const [reply] = await admitAll(redis, shardOf(request.organizationId), [request], settings);
  return assertDefined(reply, "a reply to each request");
}

/** A request that published what it claimed. */
export interface AnsweredClaims {
  readonly commandIds: readonly string[];
  readonly claimToken: string;
  /** Whether the answer has passwords: {@link confirmAnswered} follows then. */
  readonly hasPasswords?: boolean;
}

/**
 * Marks the claims of requests answered, of each request all or none: true only where each is still held under its `claimToken` and
 * younger than {@link CLAIM_OPEN_MS}, or marked under this token before: a call whose reply was lost is safe to repeat. After false
 * no 202 may be sent (decisions, 2.6). One call; all organizations are of `shard`.
 * An answer with passwords is unconfirmed until {@link confirmAnswered}. The reply to this call may be
 * lost: an equal request that comes within two minutes then answers in place of this one.
 */
export async function markAnswered(
  redis: RedisConnection,
  shard: Shard,
  requests: readonly AnsweredClaims[],
  settings: ClaimSettings = CLAIM_SETTINGS,
): Promise<boolean[]> {
  const keys = requests.flatMap(({ commandIds }) => commandIds.map((commandId) => claimKey(shard, commandId)));
  const args = requests.flatMap(({ claimToken, commandIds, hasPasswords }) => [
    claimToken,
    commandIds.length,
    hasPasswords === true ? 1 : 0,
  ]);
  const outcomes = await redis.call("kapi_mark_all_answered", keys, [settings.claimOpenMs, ...args]);
  return arrayReply(outcomes).map((outcome) => outcome === 1);
}

/** Confirms that the answer of a request, which marked its claims under `claimToken`, is being sent. */
export async function confirmAnswered(
  redis: RedisConnection,
  organizationId: string,
  { commandIds, claimToken }: AnsweredClaims,
): Promise<void> {
  const keys = commandIds.map((commandId) => claimKey(shardOf(organizationId), commandId));
  await redis.call("kapi_confirm_answered", keys, [claimToken]);
}

export type RefundReply =
  | { readonly kind: "unsynced" }
  | { readonly kind: "refunded"; readonly credits: number; readonly wallet: WalletState | null };

/** A command that a request claimed, or may have claimed. */
export interface FailedClaim {
  readonly commandId: string;
  /** Whether its message may be in the log of commands, or may yet appear there. */
  readonly mayBePublished: boolean;
}

export interface RefundRequest {
  readonly organizationId: string;
  readonly chargeId: string;
  readonly operation: string;
  readonly requestId: string;
  /** The management key of the request, where it is known. */
  readonly keyId?: string;
  readonly traceparent?: string | undefined;
  /** In the order in which the request claimed them. */
  readonly claims?: readonly FailedClaim[];
}

/**
 * Gives back what the admission of `chargeId` consumed, and what it reserved for commands that were certainly not published: once, also
 * where it is not known whether it was admitted; one that is still under way charges nothing then. What may be published stays
 * reserved, for the final event of the command settles it; the next equal request takes its claim over at once, and answers as this
 * one would have.
 */
export async function refund(
  redis: RedisConnection,
  request: RefundRequest,
  settings: ClaimSettings = CLAIM_SETTINGS,
): Promise<RefundReply> {
  const { organizationId, chargeId, claims = [] } = request;
  const shard = shardOf(organizationId);
  const keys = [metaKey(shard), walletKey(shard, organizationId), chargeKey(shard, chargeId), usageKey(shard)];
  keys.push(reservedKey(shard, organizationId), ...claims.map(({ commandId }) => claimKey(shard, commandId)));
  const args = [organizationId, chargeId, request.operation, request.requestId, CHARGE_TTL_MS];
  const ofClaims = claims.flatMap(({ commandId, mayBePublished }) => [commandId, mayBePublished ? "1" : "0"]);
  const call = [...args, settings.usageStreamLimit, request.traceparent ?? "", request.keyId ?? "", ...ofClaims];
  const [kind, credits, wallet] = arrayReply(await redis.call("kapi_give_back", keys, call));
  if (kind === "CLOSED") return { kind: "unsynced" };
  return {
    kind: "refunded",
    credits: numberReply(credits),
    wallet: wallet === undefined ? null : walletReply(organizationId, wallet),
  };
}

/** The command message (JSON) that a claim holds, or null where there is none or it was forgotten. */
export async function claimedMessage(
  redis: RedisConnection,
  organizationId: string,
  commandId: string,
): Promise<string | null> {
  return redis.commands.hget(claimKey(shardOf(organizationId), commandId), "message");
}

/** A command of an organization. */
export interface CommandRef {
  readonly organizationId: string;
  readonly commandId: string;
}

/** Most claims handed to one call of a function, so that none holds Redis for long. */
const MAX_CLAIMS_PER_CALL = 500;

/**
 * Told by command-status when these commands are final and it answers for them: the stored messages, which may hold a
 * sealed password, are dropped, and the claims are kept for {@link FINAL_CLAIM_TTL_MS} more. One result per shard: the commands of
 * a shard that is `unreachable` are to be told again. Never rejects.
 */
export function forget(redis: RedisConnection, commands: readonly CommandRef[]): Promise<ShardReplies<void>> {
  const byShard = Map.groupBy(commands, (command) => shardOf(command.organizationId));
  return callPerShard(byShard.keys(), async (shard) => {
    const keys = (byShard.get(shard) ?? []).map((command) => claimKey(shard, command.commandId));
    for (let from = 0; from < keys.length; from += MAX_CLAIMS_PER_CALL) {
      await redis.call("kapi_forget", keys.slice(from, from + MAX_CLAIMS_PER_CALL), [FINAL_CLAIM_TTL_MS]);
    }
  });
}

function admitReply(organizationId: string, reply: readonly unknown[]): AdmitReply {
  const [status, first, wallet, outcomes] = reply;
  if (status === "ADMITTED") {
    return {
      kind: "admitted",
      charged: numberReply(first),
      wallet: walletReply(organizationId, textReply(wallet)?.split(" ")),
      claims: arrayReply(outcomes).map(claimReply),
    };
  }
  if (status === "LIMITED") return { kind: "limited", retryAfterMs: numberReply(first) };
  return { kind: REFUSALS[status as keyof typeof REFUSALS] };
}

function claimReply(outcome: unknown): ClaimReply {
  const [kind, detail, chargeId] = arrayReply(outcome);
  switch (kind) {
    case "fresh":
      return { kind: "claimed", chargeId: textReply(chargeId) };
    case "taken":
      return { kind: "taken_over", message: textReply(detail), chargeId: textReply(chargeId) };
    case "duplicate":
      return { kind: "duplicate", message: textReply(detail) };
    case "open":
      return { kind: "open", ageMs: numberReply(detail) };
    case "mismatch":
      return { kind: "mismatch" };
    default:
      return { kind: "untouched" };
  }
}
