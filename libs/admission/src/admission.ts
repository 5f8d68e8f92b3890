import { AnyCommandMessage, type Wallet } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { assert, retry, toIso } from "@kapi/kernel";
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

import { type BilledCaller, callerName } from "./billed-caller.ts";
import type { Directory } from "./directory.ts";
import { batchByShard } from "./batch-by-shard.ts";

/** Seconds to wait before retrying, while Redis or the wallet shard is unavailable. */
const UNAVAILABLE_RETRY_AFTER_S = 1;
/** Maximum length of a request id for billing, in characters. */
const MAX_BILLED_REQUEST_ID_LENGTH = 128;
const MAX_RECORDS = 100;
/** Pause before records are marked again after a lost reply. Reconnecting takes about 50 ms. */
const MARK_REPEAT_MS = 100;
/**
 * Maximum number of records in a batch; a request without records counts as one. A request with
 * more records has its own batch. A full batch takes 1 to 2 ms of Redis.
 */
const MAX_RECORDS_PER_BATCH = 20;

/** The outcome of a record. */
export type RecordOutcome =
  /**
   * This request created the record: publish its message, mark the record completed, then answer
   * 202. `chargeId` is the charge id of the reservation, or null if that is the command id. Put a
   * `chargeId` that is not null into the message.
   */
  | { readonly kind: "created"; readonly recordToken: string; readonly chargeId: string | null }
  /**
   * This request reclaimed the record of an equal request that sent no 202, or did not confirm its
   * 202 with passwords. Publish `message`, mark the record completed, then answer 202 in place of
   * that request. If `message` is null, the command is already final: publish nothing, and read the
   * command from command-status.
   */
  | { readonly kind: "reclaimed"; readonly recordToken: string; readonly message: AnyCommandMessage | null }
  /**
   * The command was queued before. If `message` is null, read the command from command-status.
   */
  | { readonly kind: "duplicate"; readonly message: AnyCommandMessage | null }
  /**
   * An equal request created or reclaimed the record less than 5 s ago, and did not complete it, or
   * did not confirm its 202 with passwords. Nothing was charged; retry with the same charge id.
   */
  | { readonly kind: "open"; readonly ageMs: number }
  /**
   * The record belongs to a different request: no record was created, and the read price was
   * charged.
   */
  | { readonly kind: "mismatch" }
  /** Another record of this request is open or a mismatch: this record was not changed. */
  | { readonly kind: "skipped" };

/**
 * A request for {@link Admission.admit}, after authentication and authorization. While a record is
 * `open`, the caller repeats the call with the same `chargeId`.
 */
export interface AdmissionRequest {
  readonly caller: BilledCaller;
  /** For billing: the interface's operation id. */
  readonly operation: string;
  /** `X-Request-Id`; for billing. */
  readonly requestId: string;
  /**
   * Price of a `consume`, in credits. Ignored for `reserve` (each record has its credits) and
   * `free`.
   */
  readonly price: number;
  /**
   * `consume` charges the price at once. `reserve` reserves the credits of created records, and of
   * reclaimed records whose reservation was released, until their commands are final. `free`
   * charges nothing.
   */
  readonly mode: "consume" | "reserve" | "free";
  /**
   * Price of a `reserve` in which all records are duplicates or one record is a mismatch, in
   * credits.
   */
  readonly readPrice: number;
  /** One UUIDv7 per request; all calls of the request have the same charge id. */
  readonly chargeId: string;
  /**
   * The network address of the request; null or absent: unknown. It is for the audit entry of the
   * first use of a key.
   */
  readonly address?: string | null;
  /** Only for `reserve`: 1 to 100 records of different commands. */
  readonly records?: readonly NewRecord[];
  /**
   * For each record, whether command-status has the command with the same fingerprint; by default
   * false.
   */
  readonly knownDuplicates?: readonly boolean[];
}

/** The result of an admitted request. A rejected request has none: `admit` throws. */
export interface Admitted {
  /**
   * Credits that this request consumed or reserved, and the credits that earlier requests reserved
   * for its reclaimed records; for `X-Credits-Charged`.
   */
  readonly charged: number;
  /** Available credits after the charge; for `X-Credits-Remaining`. */
  readonly remaining: number;
  /** The wallet after the charge. */
  readonly wallet: WalletState;
  /** One outcome per record of the request, in order. */
  readonly records: readonly RecordOutcome[];
}

/**
 * Charges requests, and creates the idempotency records of their commands (decisions, 2.6). The
 * state is in Redis, so all processes share it.
 */
export interface Admission {
  /**
   * Checks revocation and rate limit, charges credits and creates records, in one Redis call that
   * concurrent requests of a shard share. Calls with the same charge id are charged once.
   * @throws ApiError 401; 429 with Retry-After; 402 (without a wallet, 404 WALLET_NOT_FOUND for
   * getCreditBalance); 500 DEPENDENCY_UNAVAILABLE with Retry-After if the shard is unsynced or
   * Redis is unavailable; 500 INTERNAL if the charge was refunded before. A rejected call was not
   * charged. After {@link ChargeUnknown}, whether the call was charged is unknown.
   */
  readonly admit: (request: AdmissionRequest) => Promise<Admitted>;
  /**
   * Marks all records of a request completed. Call it after Kafka's acknowledgement and before the
   * 202. If it returns false, no 202 may be sent.
   * @throws ApiError DEPENDENCY_UNAVAILABLE if Redis does not answer. No 202 may be sent then.
   */
  readonly markCompleted: (organizationId: string, completed: CompletedRecords) => Promise<boolean>;
  /**
   * Confirms that a 202 with passwords is being sent. Without the confirmation, an equal request
   * gets the passwords again, until two minutes after the record was created or reclaimed: the 202
   * was perhaps never sent.
   */
  readonly confirmCompleted: (organizationId: string, completed: CompletedRecords) => Promise<void>;
  /**
   * Refunds a request that is answered 5xx, also after {@link ChargeUnknown}: the credits that it
   * consumed, and the credits that it reserved for commands that were certainly not published.
   * Idempotent. Returns the refunded credits, and in `remaining` the available credits. `remaining`
   * is null if the call changed no wallet.
   * @throws ApiError DEPENDENCY_UNAVAILABLE if the shard is unsynced or Redis does not answer.
   */
  readonly refund: (request: RefundRequest) => Promise<{ credits: number; remaining: number | null }>;
  /**
   * Returns the message in the record of a command, for reads before command-status has the
   * command. Null: no record has the message. If the command was answered 202, command-status then
   * has the command.
   * @throws ApiError DEPENDENCY_UNAVAILABLE if Redis is unavailable. Also if no message was found
   * and the shard is unsynced, because Redis may have lost the record.
   */
  readonly recordedMessage: (organizationId: string, commandId: string) => Promise<AnyCommandMessage | null>;
}

/** The charge to refund: the `caller`, `operation`, `requestId` and `chargeId` of its admission. */
export interface RefundRequest extends Pick<AdmissionRequest, "caller" | "operation" | "requestId" | "chargeId"> {
  /** All records of a `reserve`, also duplicates, in their order. */
  readonly records?: readonly FailedRecord[];
}

/**
 * Redis did not answer an admission: whether the request was charged is unknown. The caller must
 * refund the request.
 */
export class ChargeUnknown extends ApiError {
  constructor(cause: unknown) {
    super("DEPENDENCY_UNAVAILABLE", { headers: { "retry-after": String(UNAVAILABLE_RETRY_AFTER_S) }, cause });
  }
}

/**
 * The dependencies of an admission: Redis has the wallets and records; the directory shows whether
 * the key was revoked since its authentication.
 */
interface AdmissionOptions {
  readonly redis: RedisConnection;
  readonly directory: Pick<Directory, "key">;
  /** By default {@link ADMISSION_SETTINGS}. */
  readonly settings?: AdmissionSettings;
}

/** Creates the last check before an operation, after authentication and authorization. */
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
      const { caller, records = [], knownDuplicates = [] } = request;
      const { actor, organizationId, rateLimit } = caller;
      assert(
        (request.mode === "reserve") === records.length > 0,
        "a request with mode reserve has no records, or a request with another mode has records",
      );
      assert(records.length <= MAX_RECORDS, `a request has ${records.length} records, more than ${MAX_RECORDS}`);
      // The key may have been revoked while the request was read.
      if (isRevoked(options.directory, actor)) throw new ApiError("AUTHENTICATION_REQUIRED");
      const reply = await reaching(
        () =>
          admitBatched(shardOf(organizationId), {
            callerName: callerName(actor),
            organizationId,
            chargeId: request.chargeId,
            mode: request.mode,
            price: request.price,
            readPrice: request.readPrice,
            operation: request.operation,
            requestId: billed(request.requestId),
            rateLimit,
            records,
            knownDuplicates,
            traceparent: activeTraceparent(),
            address: request.address ?? undefined,
          }),
        (error) => (wasNotCarriedOut(error) ? unavailable(error) : new ChargeUnknown(error)),
      );
      return admittedOrThrow(request, reply);
    },
    markCompleted: (organizationId, completed) => {
      const mark = (): Promise<boolean> => markBatched(shardOf(organizationId), completed);
      // The reply to a successful mark may be lost. A second call with the same token returns true.
      return reaching(() => retry(mark, { backOff: { firstMs: MARK_REPEAT_MS }, maxAttempts: 2 }));
    },
    confirmCompleted: (organizationId, completed) => reaching(() => confirmCompleted(redis, organizationId, completed)),
    refund: async ({ caller, operation, requestId, chargeId, records = [] }) => {
      const charge = { chargeId, operation, requestId: billed(requestId), records };
      const by = { organizationId: caller.organizationId, callerName: callerName(caller.actor) };
      const traceparent = activeTraceparent();
      const reply = await reaching(() => refund(redis, { ...charge, ...by, traceparent }, settings));
      if (reply.kind === "unsynced") throw unavailable();
      return { credits: reply.credits, remaining: reply.wallet?.available ?? null };
    },
    recordedMessage: async (organizationId, commandId) => {
      const message = messageFromWire(await reaching(() => recordedMessage(redis, organizationId, commandId)));
      // Records are found by shard and command id, so the record may be of another organization.
      if (message?.organizationId === organizationId) return message;
      // Check the shard after the record: a shard that lost its records becomes ready only after
      // command-status has ingested everything that was published before the loss.
      const unsynced = await reaching(() => unsyncedShards(redis, [shardOf(organizationId)]));
      if (unsynced.length > 0) throw unavailable();
      return null;
    },
  };
}

/** Only keys are revoked: the console checks the session of a person. */
function isRevoked(directory: AdmissionOptions["directory"], { type, id }: BilledCaller["actor"]): boolean {
  return type === "key" && directory.key(id)?.status === "revoked";
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

function admittedOrThrow(request: AdmissionRequest, reply: AdmitReply): Admitted {
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

/** The charge id of the request is the record token: every request has its own. */
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

/** Parses a message that {@link admitAll} stored. An invalid message is a defect of kapi. */
function messageFromWire(message: string | null): AnyCommandMessage | null {
  return message === null ? null : AnyCommandMessage.parse(JSON.parse(message));
}

/** The message with the charge id of its reservation, if that is not the command id. */
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
