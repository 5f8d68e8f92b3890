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
 * How long after its creation or last reclaim an open record belongs to one request. Then the next
 * equal request reclaims the record, and the earlier request sends no 202 (decisions, 2.6).
 */
export const RECORD_OPEN_MS = 5_000;
/**
 * How long a record is kept while its command is not final: shorter than the retention of the
 * topics, longer than callers retry.
 */
export const RECORD_TTL_MS = 24 * 3_600_000;
/**
 * Maximum time for which a record is kept after command-status calls {@link forget} for its command
 * (decisions, 2.5).
 */
export const FINAL_RECORD_TTL_MS = 3_600_000;
/**
 * How long a charge can be refunded, and a repeated call with its charge id is recognized. Longer
 * than the 120 s in which the gateway streams a response: a stream that its owner interrupts is
 * refunded at its end.
 */
export const CHARGE_TTL_MS = 150_000;

/**
 * An idempotency record to create. The request that creates it queues the command. Redis keys,
 * Redis functions and a metric call a record `claim`.
 */
export interface NewRecord {
  readonly commandId: string;
  readonly fingerprint: string;
  /** The whole `CommandMessage` as JSON. A request that reclaims the record publishes it again. */
  readonly message: string;
  /** Credits to reserve: the message's `reservedCredits`. */
  readonly credits: number;
}

/**
 * The outcome of a record. `skipped`: another record of the request is a mismatch or open, so the
 * request created and reclaimed no record. `chargeId`: the charge id of the reservation; null if
 * the charge id is the command id. The two ids differ after an earlier reservation was released.
 * `message`: the stored message as JSON; null if {@link forget} deleted it, or if only
 * command-status knows the duplicate. `ageMs`: time since the record was created or reclaimed.
 */
export type RecordReply =
  | { readonly kind: "created"; readonly chargeId: string | null }
  | { readonly kind: "reclaimed"; readonly message: string | null; readonly chargeId: string | null }
  | { readonly kind: "duplicate"; readonly message: string | null }
  | { readonly kind: "open"; readonly ageMs: number }
  | { readonly kind: "mismatch" }
  | { readonly kind: "skipped" };

/**
 * A request for {@link admitAll}. Its caller is authenticated, and its `requestId` is already cut
 * to the length that is stored.
 */
export interface AdmitRequest {
  /** The id of a management key, or `user/<id>`. */
  readonly callerName: string;
  readonly organizationId: string;
  /** Requests with the same charge id within {@link CHARGE_TTL_MS} are charged once. */
  readonly chargeId: string;
  readonly mode: "consume" | "reserve" | "free";
  /** Credits; for `consume`. */
  readonly price: number;
  /** Credits; for a `reserve` in which all records are duplicates, or any record is a mismatch. */
  readonly readPrice: number;
  readonly operation: string;
  readonly requestId: string;
  /** Requests per second, and requests at once; null: unlimited (decisions, 7.5). */
  readonly rateLimit: { readonly perSecond: number; readonly burst: number } | null;
  readonly records: readonly NewRecord[];
  /**
   * For each record, whether command-status has the command with the same fingerprint; by default
   * false.
   */
  readonly knownDuplicates?: readonly boolean[];
  /** The span (W3C) of the request, if the span is recorded; for the usage entries. */
  readonly traceparent?: string | undefined;
  /** The network address of the request, if known, for its usage entries. */
  readonly address?: string | undefined;
}

/**
 * The reply to one request. Every kind but `admitted` means that the request costs nothing.
 * `unsynced`: the shard is unsynced, or its usage stream is full. `refunded`: the charge of this
 * charge id was refunded before.
 */
export type AdmitReply =
  | { readonly kind: "unsynced" | "revoked" | "no_wallet" | "unpaid" | "refunded" }
  | { readonly kind: "limited"; readonly retryAfterMs: number }
  | {
      readonly kind: "admitted";
      /**
       * Credits that this request consumed or reserved, plus the credits that earlier requests
       * reserved for the records that this request reclaimed.
       */
      readonly charged: number;
      readonly wallet: WalletState;
      readonly records: readonly RecordReply[];
    };

/**
 * Only tests change `recordOpenMs`. Gateway and metrics set `usageStreamLimit` from the variable
 * `USAGE_STREAM_LIMIT`.
 */
export interface AdmissionSettings {
  readonly recordOpenMs: number;
  readonly usageStreamLimit: number;
}

/** The default settings. */
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
 * Admits requests of organizations of `shard` in one call, one after another. Each request passes
 * these steps: shard ready, key not revoked, rate limit, credits, records, usage entries
 * (architecture, 3.1). The outcomes of its records are found before the credits are compared with
 * the price, because the price depends on them. Returns one reply per request, in order.
 *
 * A request repeated with the same charge id is charged once. The reply to an admitted request is
 * stored if it charged credits, or if the request has records and no outcome is `open`. A repeat
 * gets the stored reply. Messages and charge ids are not stored: they are read from the records.
 * @throws Error when Redis is unavailable.
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
    assert(shardOf(organizationId) === shard, "a call has organizations of more than one shard");
    keys.push(
      walletKey(shard, organizationId),
      bucketKey(shard, request.callerName),
      chargeKey(shard, request.chargeId),
      reservedKey(shard, organizationId),
    );
    args.push(request.callerName, organizationId, request.chargeId, request.mode, request.price, request.readPrice);
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

/** Admits one request; see {@link admitAll}. */
export async function admit(
  redis: RedisConnection,
  request: AdmitRequest,
  settings: AdmissionSettings = ADMISSION_SETTINGS,
): Promise<AdmitReply> {
  const [reply] = await admitAll(redis, shardOf(request.organizationId), [request], settings);
  return assertDefined(reply, "the reply to the request");
}

/** A request that published the messages of its records. */
export interface CompletedRecords {
  readonly commandIds: readonly string[];
  /**
   * The charge id of the request. A record has the token of the last request that created or
   * reclaimed it.
   */
  readonly recordToken: string;
  /** Whether the answer has passwords. Such an answer needs {@link confirmCompleted}. */
  readonly hasPasswords?: boolean;
}

/**
 * Marks the records of requests of `shard` completed, in one call: for each request all records or
 * none. Returns true for a request if each of its records still has the request's `recordToken`,
 * and is younger than {@link RECORD_OPEN_MS} or already marked. So a call may be repeated after a
 * lost reply. A request with the reply false must not send a 202 (decisions, 2.6).
 *
 * An answer with passwords is unconfirmed until {@link confirmCompleted}. While the answer of this
 * request is unconfirmed, an equal request may answer in its place, from {@link RECORD_OPEN_MS} to
 * two minutes after this request created or reclaimed the records.
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
 * Confirms that the request with `recordToken` is sending its answer. Does not change records with
 * another token.
 */
export async function confirmCompleted(
  redis: RedisConnection,
  organizationId: string,
  { commandIds, recordToken }: CompletedRecords,
): Promise<void> {
  const keys = commandIds.map((commandId) => recordKey(shardOf(organizationId), commandId));
  await redis.call("kapi_confirm_answered", keys, [recordToken]);
}

/**
 * The reply to a refund: the refunded credits, and the wallet after the refund. `wallet` is null if
 * the call changed no wallet.
 */
export type RefundReply =
  | { readonly kind: "unsynced" }
  | { readonly kind: "refunded"; readonly credits: number; readonly wallet: WalletState | null };

/** A command of a failed request, whatever the outcome of its record. */
export interface FailedRecord {
  readonly commandId: string;
  /** Whether its message may be in a topic `commands.*`, or may still be published. */
  readonly mayBePublished: boolean;
}

/** The charge to refund, and the commands of the charged request. */
export interface RefundRequest {
  readonly organizationId: string;
  readonly chargeId: string;
  readonly operation: string;
  readonly requestId: string;
  /** As in {@link AdmitRequest}; absent if unknown. */
  readonly callerName?: string;
  readonly traceparent?: string | undefined;
  /** All records of the admission, in the same order as in {@link AdmitRequest.records}. */
  readonly records?: readonly FailedRecord[];
}

/**
 * Refunds the credits that the admission of `chargeId` consumed, and the credits that it reserved
 * for commands that were certainly not published. Idempotent, and safe if it is unknown whether the
 * admission happened: an admission after its refund charges nothing. If the message of a command
 * may be published, its credits stay reserved: the final event of the command settles the
 * reservation. The next equal request reclaims the record of such a command at once, and answers in
 * place of the failed request. If the shard was synced after the admission, or Redis does not know
 * the charge, the ledger refunds consumed credits later.
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
  const call = [...args, settings.usageStreamLimit, request.traceparent ?? "", request.callerName ?? "", ...ofRecords];
  const [kind, credits, wallet] = arrayReply(await redis.call("kapi_give_back", keys, call));
  if (kind === "CLOSED") return { kind: "unsynced" };
  return {
    kind: "refunded",
    credits: numberReply(credits),
    wallet: wallet === undefined ? null : walletReply(organizationId, wallet),
  };
}

/**
 * Returns the command message (JSON) in a record; null without a record, or after `forget`.
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

/** Maximum number of records per function call, so that no call blocks Redis for long. */
const MAX_RECORDS_PER_CALL = 500;

/**
 * Deletes the stored messages of commands, which may have a sealed password, and keeps their
 * records for at most {@link FINAL_RECORD_TTL_MS} more. command-status calls this function for
 * final commands, after its reads can return them. One result per shard: the caller retries the
 * commands of `unreachable` shards. Never rejects.
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
