import { assert, assertDefined } from "@kapi/kernel";

import type { RedisConnection } from "@kapi/redis";
import {
  bucketKey,
  chargeKey,
  recordKey,
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

/**
 * An idempotency record open for longer than this is reclaimed by the next equal request, and no
 * 202 is sent for it (decisions, 2.6).
 */
export const RECORD_OPEN_MS = 5_000;
/**
 * How long a record is kept while its command is not final: the log's retention is longer, and no
 * client retries for so long.
 */
export const RECORD_TTL_MS = 24 * 3_600_000;
/**
 * How long it is kept once its command is final, and command-status answers for it (decisions,
 * 2.5).
 */
export const FINAL_RECORD_TTL_MS = 3_600_000;
/**
 * How long a repeated call with the same charge id is recognized; longer than any request lasts.
 */
export const CHARGE_TTL_MS = 120_000;

/**
 * An idempotency record to create: the request that creates it is the one that queues the command.
 * Names of Redis keys and functions, and a metric, call a record `claim`.
 */
export interface NewRecord {
  readonly commandId: string;
  readonly fingerprint: string;
  /** The whole `CommandMessage`, JSON: what is published, also by whoever reclaims the record. */
  readonly message: string;
  /** Credits to reserve: the message's `reservedCredits`. */
  readonly credits: number;
}

/**
 * What became of a record. `skipped`: another item of the call decided (mismatch or open), no
 * record was created. `chargeId`: what the command's credits are reserved under, where that is not
 * the command's id: an earlier reservation of it came back.
 */
export type RecordReply =
  | { readonly kind: "created"; readonly chargeId: string | null }
  | { readonly kind: "reclaimed"; readonly message: string | null; readonly chargeId: string | null }
  | { readonly kind: "duplicate"; readonly message: string | null }
  | { readonly kind: "open"; readonly ageMs: number }
  | { readonly kind: "mismatch" }
  | { readonly kind: "skipped" };

export interface AdmitRequest {
  readonly keyId: string;
  readonly organizationId: string;
  readonly chargeId: string;
  readonly mode: "consume" | "reserve" | "free";
  /** Credits; for `consume`. */
  readonly price: number;
  /** Credits; for a `reserve` that creates no new record. */
  readonly readPrice: number;
  readonly operation: string;
  readonly requestId: string;
  readonly rateLimit: { readonly perSecond: number; readonly burst: number } | null;
  readonly records: readonly NewRecord[];
  /**
   * Per record, whether command-status knows the command, under the same fingerprint; none unless
   * told.
   */
  readonly knownDuplicates?: readonly boolean[];
  /** The span of the request (W3C), where it is recorded: its usage entries name it. */
  readonly traceparent?: string | undefined;
  /**
   * The network address that the request came from, where it is known: its usage entries name it.
   */
  readonly address?: string | undefined;
}

export type AdmitReply =
  | { readonly kind: "unsynced" | "revoked" | "no_wallet" | "unpaid" | "refunded" }
  | { readonly kind: "limited"; readonly retryAfterMs: number }
  | {
      readonly kind: "admitted";
      /**
       * Credits that this call consumed or reserved; of a reclaimed record those reserved by an
       * earlier request, if they are there.
       */
      readonly charged: number;
      readonly wallet: WalletState;
      readonly records: readonly RecordReply[];
    };

/** Settings that only tests change. */
export interface AdmissionSettings {
  readonly recordOpenMs: number;
  readonly usageStreamLimit: number;
}

export const ADMISSION_SETTINGS: AdmissionSettings = {
  recordOpenMs: RECORD_OPEN_MS,
  usageStreamLimit: USAGE_STREAM_LIMIT,
};

const REJECTIONS = {
  CLOSED: "unsynced",
  REVOKED: "revoked",
  NO_WALLET: "no_wallet",
  UNPAID: "unpaid",
  REFUNDED: "refunded",
} as const;

/**
 * Admits requests whose organizations are of `shard`, one after the other in one call: shard ready,
 * key not revoked, rate limit, credits, records, usage entries (architecture, 3.1). One reply per
 * request, in their order. A request repeated with the same charge id gets the first answer and is
 * charged once. Rejects when Redis is away.
 */
export async function admitAll(
  redis: RedisConnection,
  shard: Shard,
  requests: readonly AdmitRequest[],
  settings: AdmissionSettings = ADMISSION_SETTINGS,
): Promise<AdmitReply[]> {
  const keys = [metaKey(shard), usageKey(shard)];
  const args: (string | number)[] = [settings.recordOpenMs, RECORD_TTL_MS, CHARGE_TTL_MS, settings.usageStreamLimit];
  for (const request of requests) {
    const { organizationId, records, rateLimit } = request;
    assert(shardOf(organizationId) === shard, "a call is about organizations of one shard");
    keys.push(
      walletKey(shard, organizationId),
      bucketKey(shard, request.keyId),
      chargeKey(shard, request.chargeId),
      reservedKey(shard, organizationId),
    );
    args.push(request.keyId, organizationId, request.chargeId, request.mode, request.price, request.readPrice);
    args.push(request.operation, request.requestId, rateLimit?.perSecond ?? "", rateLimit?.burst ?? "");
    args.push(request.traceparent ?? "", request.address ?? "", records.length);
    for (const [index, record] of records.entries()) {
      keys.push(recordKey(shard, record.commandId), settledKey(shard, record.commandId));
      args.push(record.commandId, record.fingerprint, record.message, record.credits);
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
  settings: AdmissionSettings = ADMISSION_SETTINGS,
): Promise<AdmitReply> {
  const [reply] = await admitAll(redis, shardOf(request.organizationId), [request], settings);
  return assertDefined(reply, "a reply to each request");
}

/** A request that published the messages of its records. */
export interface CompletedRecords {
  readonly commandIds: readonly string[];
  readonly recordToken: string;
  /** Whether the answer has passwords: {@link confirmCompleted} follows then. */
  readonly hasPasswords?: boolean;
}

/**
 * Marks the records of requests completed, of each request all or none: true only where each is
 * still held under its `recordToken` and younger than {@link RECORD_OPEN_MS}, or marked under this
 * token before: a call whose reply was lost is safe to repeat. After false no 202 may be sent
 * (decisions, 2.6). One call; all organizations are of `shard`. An answer with passwords is
 * unconfirmed until {@link confirmCompleted}. The reply to this call may be lost: an equal request
 * that comes within two minutes then answers in place of this one.
 */
export async function markCompleted(
  redis: RedisConnection,
  shard: Shard,
  requests: readonly CompletedRecords[],
  settings: AdmissionSettings = ADMISSION_SETTINGS,
): Promise<boolean[]> {
  const keys = requests.flatMap(({ commandIds }) => commandIds.map((commandId) => recordKey(shard, commandId)));
  const args = requests.flatMap(({ recordToken, commandIds, hasPasswords }) => [
    recordToken,
    commandIds.length,
    hasPasswords === true ? 1 : 0,
  ]);
  const outcomes = await redis.call("kapi_mark_all_answered", keys, [settings.recordOpenMs, ...args]);
  return arrayReply(outcomes).map((outcome) => outcome === 1);
}

/**
 * Confirms that the answer of a request, which marked its records under `recordToken`, is being
 * sent.
 */
export async function confirmCompleted(
  redis: RedisConnection,
  organizationId: string,
  { commandIds, recordToken }: CompletedRecords,
): Promise<void> {
  const keys = commandIds.map((commandId) => recordKey(shardOf(organizationId), commandId));
  await redis.call("kapi_confirm_answered", keys, [recordToken]);
}

export type RefundReply =
  | { readonly kind: "unsynced" }
  | { readonly kind: "refunded"; readonly credits: number; readonly wallet: WalletState | null };

/** A command that a request has, or may have, created the record of. */
export interface FailedRecord {
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
  /** In the order of the request. */
  readonly records?: readonly FailedRecord[];
}

/**
 * Gives back what the admission of `chargeId` consumed, and what it reserved for commands that were
 * certainly not published: once, also where it is not known whether it was admitted; one that is
 * still under way charges nothing then. What may be published stays reserved, for the final event
 * of the command settles it; the next equal request reclaims its record at once, and answers as
 * this one would have.
 */
export async function refund(
  redis: RedisConnection,
  request: RefundRequest,
  settings: AdmissionSettings = ADMISSION_SETTINGS,
): Promise<RefundReply> {
  const { organizationId, chargeId, records = [] } = request;
  const shard = shardOf(organizationId);
  const keys = [metaKey(shard), walletKey(shard, organizationId), chargeKey(shard, chargeId), usageKey(shard)];
  keys.push(reservedKey(shard, organizationId), ...records.map(({ commandId }) => recordKey(shard, commandId)));
  const args = [organizationId, chargeId, request.operation, request.requestId, CHARGE_TTL_MS];
  const ofRecords = records.flatMap(({ commandId, mayBePublished }) => [commandId, mayBePublished ? "1" : "0"]);
  const call = [...args, settings.usageStreamLimit, request.traceparent ?? "", request.keyId ?? "", ...ofRecords];
  const [kind, credits, wallet] = arrayReply(await redis.call("kapi_give_back", keys, call));
  if (kind === "CLOSED") return { kind: "unsynced" };
  return {
    kind: "refunded",
    credits: numberReply(credits),
    wallet: wallet === undefined ? null : walletReply(organizationId, wallet),
  };
}

/**
 * The command message (JSON) that a record holds, or null where there is none or it was forgotten.
 */
export async function recordedMessage(
  redis: RedisConnection,
  organizationId: string,
  commandId: string,
): Promise<string | null> {
  return redis.commands.hget(recordKey(shardOf(organizationId), commandId), "message");
}

/** A command of an organization. */
export interface CommandRef {
  readonly organizationId: string;
  readonly commandId: string;
}

/** Most records handed to one call of a function, so that none holds Redis for long. */
const MAX_RECORDS_PER_CALL = 500;

/**
 * Told by command-status when these commands are final and it answers for them: the stored
 * messages, which may hold a sealed password, are dropped, and the records are kept for
 * {@link FINAL_RECORD_TTL_MS} more. One result per shard: the commands of a shard that is
 * `unreachable` are to be told again. Never rejects.
 */
export function forget(redis: RedisConnection, commands: readonly CommandRef[]): Promise<ShardReplies<void>> {
  const byShard = Map.groupBy(commands, (command) => shardOf(command.organizationId));
  return callPerShard(byShard.keys(), async (shard) => {
    const keys = (byShard.get(shard) ?? []).map((command) => recordKey(shard, command.commandId));
    for (let from = 0; from < keys.length; from += MAX_RECORDS_PER_CALL) {
      await redis.call("kapi_forget", keys.slice(from, from + MAX_RECORDS_PER_CALL), [FINAL_RECORD_TTL_MS]);
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
      records: arrayReply(outcomes).map(recordReply),
    };
  }
  if (status === "LIMITED") return { kind: "limited", retryAfterMs: numberReply(first) };
  return { kind: REJECTIONS[status as keyof typeof REJECTIONS] };
}

function recordReply(outcome: unknown): RecordReply {
  const [kind, detail, chargeId] = arrayReply(outcome);
  switch (kind) {
    case "fresh":
      return { kind: "created", chargeId: textReply(chargeId) };
    case "taken":
      return { kind: "reclaimed", message: textReply(detail), chargeId: textReply(chargeId) };
    case "duplicate":
      return { kind: "duplicate", message: textReply(detail) };
    case "open":
      return { kind: "open", ageMs: numberReply(detail) };
    case "mismatch":
      return { kind: "mismatch" };
    default:
      return { kind: "skipped" };
  }
}
