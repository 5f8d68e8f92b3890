import { AnyCommandMessage, type KeyEntry, type Wallet } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { assert, type Clock, retry, toIso } from "@kapi/kernel";
import { type RedisConnection, wasNotCarriedOut } from "@kapi/redis";
import {
  type AdmitReply,
  type AdmitRequest,
  type CompletedRecords,
  ADMISSION_SETTINGS,
  type RecordReply,
  type AdmissionSettings,
  type FailedRecord,
  type NewRecord,
  type WalletState,
  admitAll,
  recordedMessage,
  unsyncedShards,
  markCompleted,
  confirmCompleted,
  refund,
  shardOf,
} from "./redis/index.ts";
import { activeTraceparent } from "@kapi/runtime";

export type { CompletedRecords, NewRecord } from "./redis/index.ts";

import type { Directory } from "./directory.ts";
import { batchByShard } from "./batch-by-shard.ts";

/** Seconds to wait before retrying, while Redis or the wallet shard is unavailable. */
const UNAVAILABLE_RETRY_AFTER_S = 1;
/** Most of a request id that is kept for billing, in characters. */
const MAX_BILLED_REQUEST_ID_LENGTH = 128;
const MAX_RECORDS = 100;
/**
 * Pause before records are marked once more where the reply was lost: a dropped connection is made
 * again in about 50 ms.
 */
const MARK_REPEAT_MS = 100;
/**
 * Maximum number of records in a batch; a request without any counts as one. Such a call takes 1 to
 * 2 ms of Redis.
 */
const MAX_RECORDS_PER_BATCH = 20;

/** What became of a record; in the order of the records. */
export type RecordOutcome =
  /**
   * Ours: publish the message that was sent, then mark completed, then 202. `chargeId`: the
   * reservation, where it is not the command's id; the message that is published names it.
   */
  | { readonly kind: "created"; readonly recordToken: string; readonly chargeId: string | null }
  /**
   * Ours, from a request that never answered: publish `message`, then mark completed, then 202 as
   * the first would have. Null: the command is already final; nothing to publish, command-status
   * has it.
   */
  | { readonly kind: "reclaimed"; readonly recordToken: string; readonly message: AnyCommandMessage | null }
  /** Queued before. `message` is null where only command-status knows it. */
  | { readonly kind: "duplicate"; readonly message: AnyCommandMessage | null }
  /** An equal request is at work on it: nothing was charged; ask again with the same charge id. */
  | { readonly kind: "open"; readonly ageMs: number }
  /**
   * The command id has the record of a different request: no record was created, the read price was
   * charged.
   */
  | { readonly kind: "mismatch" }
  /** Another record of this call is open or a mismatch: nothing was done with this one. */
  | { readonly kind: "skipped" };

export interface AdmissionRequest {
  readonly key: KeyEntry;
  /** For billing: the interface's operation id. */
  readonly operation: string;
  /** `X-Request-Id`; for billing. */
  readonly requestId: string;
  /**
   * Credits; what `consume` costs. Not looked at for `reserve` (each record has its credits) and
   * `free`.
   */
  readonly price: number;
  readonly mode: "consume" | "reserve" | "free";
  /** Credits; what a `reserve` costs that creates no new record. */
  readonly readPrice: number;
  /** One UUIDv7 per request; the same for every call that the request makes. */
  readonly chargeId: string;
  /**
   * The network address that the request came from; null or absent: not known. For the first use of
   * a key.
   */
  readonly address?: string | null;
  /** Only for `reserve`: 1 to 100, of different commands. */
  readonly records?: readonly NewRecord[];
  /**
   * Per record, whether command-status knows the command (under the same fingerprint); none unless
   * told.
   */
  readonly knownDuplicates?: readonly boolean[];
}

export interface Admitted {
  /** Credits consumed or reserved for this request; for `X-Credits-Charged`. */
  readonly charged: number;
  /** Available credits after it; for `X-Credits-Remaining`. */
  readonly remaining: number;
  readonly wallet: WalletState;
  readonly records: readonly RecordOutcome[];
}

export interface Admission {
  /**
   * Revoked set, rate limit, credits and records, in one Redis call, which requests of the same
   * moment share; repeated with the same charge id it charges once. Throws ApiError: 401; 429 with
   * Retry-After; 402 (404 WALLET_NOT_FOUND for getCreditBalance); 500 DEPENDENCY_UNAVAILABLE with
   * Retry-After where the shard is unsynced or Redis is away. Nothing was charged by a call that
   * throws, unless Redis is away.
   */
  readonly admit: (request: AdmissionRequest) => Promise<Admitted>;
  /**
   * After Kafka's acknowledgement and before the 202, for all records of the request. False: no 202
   * may be sent.
   */
  readonly markCompleted: (organizationId: string, completed: CompletedRecords) => Promise<boolean>;
  /**
   * Confirms that a 202 with passwords is being sent. Without it, an equal request within two
   * minutes answers them again: the 202 may never have been sent.
   */
  readonly confirmCompleted: (organizationId: string, completed: CompletedRecords) => Promise<void>;
  /**
   * For a request that is answered 5xx: gives back what it consumed, and what it reserved for
   * commands that were certainly not published; also where {@link ChargeUnknown} was thrown. Once,
   * however often it is called. Returns what was given back and what is available then.
   */
  readonly refund: (request: RefundRequest) => Promise<{ credits: number; remaining: number | null }>;
  /**
   * The message that the organization's record on the command still holds, for reads that come
   * before command-status has the command. Null: every command of the organization that was
   * answered with 202 either has a record or is in command-status by now. Throws
   * DEPENDENCY_UNAVAILABLE where that is not known, because Redis lost records and the shard is
   * unsynced.
   */
  readonly recordedMessage: (organizationId: string, commandId: string) => Promise<AnyCommandMessage | null>;
}

export interface RefundRequest extends Pick<AdmissionRequest, "key" | "operation" | "requestId" | "chargeId"> {
  /** Of a `reserve`: its records, in their order. */
  readonly records?: readonly FailedRecord[];
}

/**
 * Redis did not answer an admission: nobody knows whether it charged. What it charged is to be
 * given back.
 */
export class ChargeUnknown extends ApiError {
  constructor(cause: unknown) {
    super("DEPENDENCY_UNAVAILABLE", { headers: { "retry-after": String(UNAVAILABLE_RETRY_AFTER_S) }, cause });
  }
}

export interface AdmissionOptions {
  readonly redis: RedisConnection;
  readonly directory: Pick<Directory, "key">;
  readonly clock: Clock;
  /**
   * How long records are open, and how many usage entries may wait; {@link ADMISSION_SETTINGS}
   * unless told.
   */
  readonly settings?: AdmissionSettings;
}

/** Makes the last gate before an operation; authentication and authorization come before it. */
export function createAdmission(options: AdmissionOptions): Admission {
  const { redis, settings = ADMISSION_SETTINGS } = options;
  const admitBatched = batchByShard<AdmitRequest, AdmitReply>({
    call: (shard, requests) => admitAll(redis, shard, requests, settings),
    sizeOf: ({ records }) => Math.max(records.length, 1),
    maxSize: MAX_RECORDS_PER_BATCH,
  });
  const markBatched = batchByShard<CompletedRecords, boolean>({
    call: (shard, requests) => markCompleted(redis, shard, requests, settings),
    sizeOf: ({ commandIds }) => commandIds.length,
    maxSize: MAX_RECORDS_PER_BATCH,
  });
  return {
    admit: async (request) => {
      const { key, records = [], knownDuplicates = [] } = request;
      assert(
        (request.mode === "reserve") === records.length > 0,
        "records are made by requests that reserve, and only those",
      );
      assert(records.length <= MAX_RECORDS, "a request makes no more records than a bulk has items");
      // The entry may be older than a revocation that came while the request was read.
      if (options.directory.key(key.keyId)?.status === "revoked") throw new ApiError("AUTHENTICATION_REQUIRED");
      const reply = await reaching(
        () =>
          admitBatched(shardOf(key.organizationId), {
            keyId: key.keyId,
            organizationId: key.organizationId,
            chargeId: request.chargeId,
            mode: request.mode,
            price: request.price,
            readPrice: request.readPrice,
            operation: request.operation,
            requestId: billed(request.requestId),
            rateLimit: key.rateLimit,
            records,
            knownDuplicates,
            traceparent: activeTraceparent(),
            address: request.address ?? undefined,
          }),
        (error) => (wasNotCarriedOut(error) ? unavailable(error) : new ChargeUnknown(error)),
      );
      return admittedOr4xx(request, reply);
    },
    markCompleted: (organizationId, completed) => {
      const mark = (): Promise<boolean> => markBatched(shardOf(organizationId), completed);
      // The reply may be lost where the mark is set: the same token learns that, whoever else asks
      // sees a completed request.
      return reaching(() => retry(mark, { backOff: { firstMs: MARK_REPEAT_MS }, maxAttempts: 2 }));
    },
    confirmCompleted: (organizationId, completed) => reaching(() => confirmCompleted(redis, organizationId, completed)),
    refund: async ({ key, operation, requestId, chargeId, records = [] }) => {
      const { organizationId, keyId } = key;
      const traceparent = activeTraceparent();
      const wanted = { organizationId, keyId, chargeId, operation, requestId: billed(requestId), traceparent, records };
      const reply = await reaching(() => refund(redis, wanted, settings));
      if (reply.kind === "unsynced") throw unavailable();
      return { credits: reply.credits, remaining: reply.wallet?.available ?? null };
    },
    recordedMessage: async (organizationId, commandId) => {
      const message = messageFromWire(await reaching(() => recordedMessage(redis, organizationId, commandId)));
      // Records are found by shard and command id, and organizations share shards.
      if (message?.organizationId === organizationId) return message;
      // After the record: a shard that lost its records is ready only once command-status has taken
      // in all that was published before.
      const unsynced = await reaching(() => unsyncedShards(redis, [shardOf(organizationId)]));
      if (unsynced.length > 0) throw unavailable();
      return null;
    },
  };
}

/** A wallet as the interface shows it, with `lowBalance` (decisions, 7.3). */
export function walletToWire(wallet: WalletState): Wallet {
  return {
    id: wallet.id,
    organizationId: wallet.organizationId,
    availableCredits: wallet.available,
    reservedCredits: wallet.reserved,
    lifetimePurchased: wallet.purchased,
    lifetimeConsumed: wallet.consumed,
    lowBalanceThreshold: wallet.lowBalanceThreshold,
    createdAt: toIso(wallet.createdAtMs),
    updatedAt: toIso(wallet.updatedAtMs),
    lowBalance: wallet.available <= wallet.lowBalanceThreshold,
  };
}

function admittedOr4xx(request: AdmissionRequest, reply: AdmitReply): Admitted {
  switch (reply.kind) {
    case "admitted":
      return {
        charged: reply.charged,
        remaining: reply.wallet.available,
        wallet: reply.wallet,
        records: reply.records.map((record) => outcomeOf(record, request.chargeId)),
      };
    case "revoked":
      throw new ApiError("AUTHENTICATION_REQUIRED");
    case "limited":
      throw new ApiError("RATE_LIMITED", { headers: { "retry-after": String(Math.ceil(reply.retryAfterMs / 1_000)) } });
    case "no_wallet":
      throw new ApiError(request.operation === "getCreditBalance" ? "WALLET_NOT_FOUND" : "INSUFFICIENT_CREDITS");
    case "unpaid":
      throw new ApiError("INSUFFICIENT_CREDITS");
    case "refunded":
      throw new ApiError("INTERNAL", {
        cause: new Error(`charge ${request.chargeId} was refunded before it was admitted`),
      });
    case "unsynced":
      throw unavailable();
  }
}

/** The charge id is the record token: it is as unique as the request. */
function outcomeOf(record: RecordReply, recordToken: string): RecordOutcome {
  switch (record.kind) {
    case "created":
      return { kind: "created", recordToken, chargeId: record.chargeId };
    case "reclaimed":
      return { kind: "reclaimed", recordToken, message: reservedAs(messageFromWire(record.message), record.chargeId) };
    case "duplicate":
      return { kind: "duplicate", message: messageFromWire(record.message) };
    case "open":
    case "mismatch":
    case "skipped":
      return record;
  }
}

/**
 * What we wrote ourselves; a message that is none is a broken promise of ours, not a caller's
 * mistake.
 */
function messageFromWire(message: string | null): AnyCommandMessage | null {
  return message === null ? null : AnyCommandMessage.parse(JSON.parse(message));
}

/** The message, with the charge id of its reservation where that is not the command's id. */
function reservedAs(message: AnyCommandMessage | null, chargeId: string | null): AnyCommandMessage | null {
  return message === null || chargeId === null ? message : { ...message, chargeId };
}

async function reaching<T>(
  call: () => Promise<T>,
  toError: (error: unknown) => ApiError = (error) => unavailable(error),
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toError(error);
  }
}

function unavailable(cause?: unknown): ApiError {
  return new ApiError("DEPENDENCY_UNAVAILABLE", {
    headers: { "retry-after": String(UNAVAILABLE_RETRY_AFTER_S) },
    cause,
  });
}

function billed(requestId: string): string {
  return requestId.slice(0, MAX_BILLED_REQUEST_ID_LENGTH);
}
