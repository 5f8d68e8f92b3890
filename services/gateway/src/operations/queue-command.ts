import type { CompletedRecords, NewRecord, RecordOutcome } from "@kapi/admission";
import {
  type Command,
  type AnyCommandMessage,
  type CommandOperation,
  type OperationContract,
  queuedCommand,
} from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { assert, commandIdOf, delay, monotonicClock } from "@kapi/kernel";
import { faultPoint } from "@kapi/runtime";

import { type CommandDraft, commandMessageOf, commandTimes } from "../domain/command-message.ts";
import { earlierFingerprintOf, equalFingerprint, fingerprintOf } from "../domain/fingerprint.ts";
import { type KnownCommand, NotPublished } from "../domain/ports.ts";
import type { Answer, Call } from "./call.ts";
import type { RequestCharge } from "./request-charge.ts";
import { countRecordOutcomes, countLateRecords, countUnconfirmedRecords } from "./idempotency-metrics.ts";
import type { Dependencies } from "./dependencies.ts";

/** How often a request checks again an idempotency record that an equal request holds open. */
const OPEN_RECORD_POLL_MS = 50;
/**
 * Maximum duration of these checks. A record can be completed only until it is 5 s old (decisions,
 * 2.6). After that, exactly one of the waiting requests reclaims it.
 */
const OPEN_RECORD_TIMEOUT_MS = 8_000;

const RETRY_AFTER_HEADERS = { "retry-after": "1" };

/** Dependencies of every operation that queues a command. */
export type QueueDependencies = Pick<
  Dependencies,
  | "admission"
  | "clock"
  | "commandLog"
  | "commandStatus"
  | "derivationKeys"
  | "fingerprintKey"
  | "prices"
  | "sealingKeys"
>;

/** A mutation with a valid path, header and body. */
export interface QueueRequest {
  readonly operation: CommandOperation;
  readonly serverId: string;
  readonly accountNumber: string | null;
  readonly idempotencyKey: string;
  readonly body: CommandDraft["body"];
  readonly state: () => Promise<RequestState>;
  /** Status of the error if the key was used for a different request (decisions, 2.3). */
  readonly reusedStatus: 400 | 409;
  /**
   * Fields that only a response with `duplicate: false` has, such as credentials. It is the
   * response to the first request, or to a request that reclaims the record of the first request.
   */
  readonly firstAnswerFields?: ExtraFields;
  /** Fields that every response has, also the response to a repeat. */
  readonly everyAnswerFields?: ExtraFields;
}

/** A request checked against the state of server and account. */
export interface RequestState {
  /** Why the request is rejected: 400 before 404 before 409; null if it is not. */
  readonly rejection: ApiError | null;
  /** The id of the account; null if it is unknown, or if the command has no existing account. */
  readonly accountId: string | null;
}

/** The command of a request, before earlier requests are looked up. */
export interface ProposedCommand {
  readonly message: AnyCommandMessage;
  /** The fingerprint that release 0.1.0 gave this request; null if `message` has the same one. */
  readonly earlierFingerprint: string | null;
}

/**
 * Returns fields of a response that are not part of the command. `derivationKeyId` is in the first
 * request's message: the current key may be another one.
 */
export type ExtraFields = (commandId: string, derivationKeyId: string | null) => Readonly<Record<string, unknown>>;

/** The command of a response, and the id of the key that derives its generated passwords. */
export interface AnsweredCommand {
  readonly command: Command;
  readonly derivationKeyId: string | null;
}

/**
 * Queues a command, once per idempotency key (decisions, 2; architecture, 3.2): look-up → admission
 * with an idempotency record → publish → complete the record → 202. A later equal request gets
 * 200 with the same command, or 202 if it reclaims the record. A different request under the key is
 * rejected.
 */
export async function queueCommand(
  dependencies: QueueDependencies,
  call: Call,
  request: QueueRequest,
): Promise<Answer> {
  const proposed = proposedCommandOf(dependencies, call, request, call.contract);
  const { known, rejection, message } = await findEarlierRequest(dependencies, request, proposed);
  if (rejection !== null) return call.charge.reject(rejection);
  const record = openRecordOf(message);
  const [outcome] = await admitOrWait(call, [record], [known !== null]);
  assert(outcome !== undefined, "admission returned no outcome for the record");
  switch (outcome.kind) {
    case "created":
      faultPoint("gateway.claimed");
      await publishNew(dependencies, call, message, record.message, outcome.chargeId);
      return accepted(dependencies, call, request, queuedAnswer(message), outcome.recordToken);
    case "reclaimed":
      return reclaim(dependencies, call, request, outcome.message, outcome.recordToken);
    case "duplicate":
      return duplicate(request, await currentCommand(dependencies, message.commandId, known, outcome.message));
    case "mismatch":
      throw keyReused(request);
    case "open":
    case "skipped":
      throw recordStillOpen();
  }
}

/** The command of a request. `contract` has its path and price. */
export function proposedCommandOf(
  dependencies: Pick<QueueDependencies, "clock" | "derivationKeys" | "fingerprintKey" | "prices" | "sealingKeys">,
  call: Call,
  request: QueueRequest,
  contract: Pick<OperationContract, "path" | "price">,
): ProposedCommand {
  const { organizationId, actor } = call.caller;
  const { operation, serverId, accountNumber, idempotencyKey, body } = request;
  const commandId = commandIdOf(organizationId, idempotencyKey);
  const path = contract.path.replace(":serverId", serverId).replace(":accountNumber", accountNumber ?? "");
  const compared = { operation, path, body, actor };
  const fingerprint = fingerprintOf(compared, dependencies.fingerprintKey);
  const price = dependencies.prices()[contract.price];
  const nowMs = dependencies.clock.nowMs();
  const fields = {
    organizationId,
    createdBy: actor,
    address: call.address,
    serverId,
    accountNumber,
    operation,
    idempotencyKey,
    body,
  };
  const message = commandMessageOf({ ...fields, commandId, fingerprint, price, nowMs }, dependencies);
  return { message, earlierFingerprint: earlierFingerprintOf(compared, dependencies.fingerprintKey) };
}

/** The idempotency record of a command that is to be queued. */
export function openRecordOf(message: AnyCommandMessage): NewRecord {
  const { commandId, fingerprint, reservedCredits } = message;
  return { commandId, fingerprint, message: JSON.stringify(message), credits: reservedCredits };
}

/** The result of the look-up of an earlier request, and the message to queue if there is none. */
export interface EarlierRequest {
  /** The command of an equal earlier request, if command-status has it. */
  readonly known: KnownCommand | null;
  readonly rejection: ApiError | null;
  readonly message: AnyCommandMessage;
}

/**
 * Looks up an equal earlier request, and why the request is rejected: 400 before 404 before 409. A
 * repeat of an accepted request is never rejected for the state of server or account, which may
 * have changed since.
 */
export async function findEarlierRequest(
  dependencies: Pick<QueueDependencies, "admission" | "clock" | "commandStatus">,
  request: QueueRequest,
  proposed: ProposedCommand,
): Promise<EarlierRequest> {
  const { commandId, organizationId } = proposed.message;
  const [known, { rejection, accountId }] = await Promise.all([
    dependencies.commandStatus.lookUp(commandId),
    request.state(),
  ]);
  const message = { ...proposed.message, managedAccountId: proposed.message.managedAccountId ?? accountId };
  if (known !== null) {
    assert(known.organizationId === organizationId, "command-status returned a command of another organization");
    const fingerprint = equalFingerprint(
      proposed,
      known.fingerprint,
      known.command.createdAt,
      dependencies.clock.nowMs(),
    );
    if (fingerprint !== null) return { known, rejection: null, message: { ...message, fingerprint } };
    return { known: null, rejection: firstRejection([rejection, keyReused(request)]), message };
  }
  // Admission itself compares the fingerprint with that of the record. So the record is read here
  // only if a rejected request may be a repeat, or to compare the fingerprint of release 0.1.0.
  if (rejection === null && proposed.earlierFingerprint === null) return { known, rejection, message };
  const recorded = await dependencies.admission.recordedMessage(organizationId, commandId);
  if (recorded === null) return { known, rejection, message };
  const fingerprint = equalFingerprint(proposed, recorded.fingerprint, recorded.createdAt, dependencies.clock.nowMs());
  if (fingerprint !== null) return { known, rejection: null, message: { ...message, fingerprint } };
  return { known, rejection: firstRejection([rejection, keyReused(request)]), message };
}

/**
 * The rejection to report: 400 before 404 before 409 (decisions, 1.1); of equal statuses the first.
 */
export function firstRejection(rejections: readonly (ApiError | null)[]): ApiError | null {
  return rejections.reduce(
    (first, rejection) =>
      first === null || (rejection !== null && rejection.status < first.status) ? rejection : first,
    null,
  );
}

/**
 * Admits the request with its idempotency records. Waits while an equal request holds one of them
 * open. After {@link OPEN_RECORD_TIMEOUT_MS} an outcome can still be `open`.
 */
export async function admitOrWait(
  call: Pick<Call, "charge">,
  records: readonly NewRecord[],
  knownDuplicates: readonly boolean[],
): Promise<readonly RecordOutcome[]> {
  const waitUntilMs = monotonicClock.nowMs() + OPEN_RECORD_TIMEOUT_MS;
  for (;;) {
    const admitted = await call.charge.reserve(records, knownDuplicates);
    const isOpen = admitted.records.some((outcome) => outcome.kind === "open");
    if (!isOpen || monotonicClock.nowMs() >= waitUntilMs) {
      countRecordOutcomes(admitted.records);
      return admitted.records;
    }
    await delay(OPEN_RECORD_POLL_MS);
  }
}

/**
 * Publishes a message of the request. A later refund keeps the reservation of this message, unless
 * the message is certainly not in the log.
 */
export async function publish(
  { commandLog }: Pick<Dependencies, "commandLog">,
  { charge }: { readonly charge: Pick<RequestCharge, "mayBePublished" | "notPublished"> },
  message: AnyCommandMessage,
  value: string,
): Promise<void> {
  const { commandId } = message;
  charge.mayBePublished(commandId);
  try {
    await commandLog.publish(message, value);
  } catch (error) {
    if (!(error instanceof NotPublished)) throw error;
    charge.notPublished(commandId);
    throw new ApiError("DEPENDENCY_UNAVAILABLE", { headers: RETRY_AFTER_HEADERS, cause: error });
  }
}

/**
 * Publishes the message of a new record. `chargeId` is the charge id of the record's reservation.
 * It is null if the charge id is the command id: then the message has no `chargeId`.
 */
export function publishNew(
  dependencies: Pick<Dependencies, "commandLog">,
  call: Call,
  message: AnyCommandMessage,
  value: string,
  chargeId: string | null,
): Promise<void> {
  if (chargeId === null) return publish(dependencies, call, message, value);
  const withCharge = { ...message, chargeId };
  return publish(dependencies, call, withCharge, JSON.stringify(withCharge));
}

/**
 * The message of a reclaimed record, with current times: with the times of the first request, the
 * command might expire at once. Everything else is unchanged, because the message may have been
 * published already. Consumers use the first copy of a command id.
 */
export function reclaimedMessage(message: AnyCommandMessage, nowMs: number): AnyCommandMessage {
  return { ...message, ...commandTimes(message.operation, nowMs) };
}

/**
 * Completes an earlier request that sent no 202, or whose 202 with passwords is unconfirmed. The
 * record has no message any more if the command is already final.
 */
async function reclaim(
  dependencies: Pick<QueueDependencies, "admission" | "clock" | "commandLog" | "commandStatus">,
  call: Call,
  request: QueueRequest,
  message: AnyCommandMessage | null,
  recordToken: string,
): Promise<Answer> {
  if (message !== null) {
    const reclaimed = reclaimedMessage(message, dependencies.clock.nowMs());
    await publish(dependencies, call, reclaimed, JSON.stringify(reclaimed));
    return accepted(dependencies, call, request, queuedAnswer(reclaimed), recordToken);
  }
  const commandId = commandIdOf(call.caller.organizationId, request.idempotencyKey);
  return accepted(dependencies, call, request, await currentCommand(dependencies, commandId, null, null), recordToken);
}

/**
 * Completes the record and returns the 202.
 * @throws ApiError DEPENDENCY_UNAVAILABLE if the record was open for too long: an equal request may
 * have reclaimed it.
 */
async function accepted(
  { admission }: Pick<Dependencies, "admission">,
  call: Call,
  request: QueueRequest,
  { command, derivationKeyId }: AnsweredCommand,
  recordToken: string,
): Promise<Answer> {
  const hasPasswords = request.firstAnswerFields !== undefined;
  await completeRecords(admission, call, { commandIds: [command.id], recordToken, hasPasswords });
  return {
    status: 202,
    commandId: command.id,
    body: JSON.stringify({
      command,
      duplicate: false,
      ...request.firstAnswerFields?.(command.id, derivationKeyId),
      ...request.everyAnswerFields?.(command.id, derivationKeyId),
    }),
  };
}

/**
 * Completes all idempotency records of the request, or none.
 * @throws ApiError DEPENDENCY_UNAVAILABLE if one was open for too long, so that no 202 may be sent.
 */
export async function completeRecords(
  admission: Pick<Dependencies["admission"], "confirmCompleted" | "markCompleted">,
  call: Call,
  completed: CompletedRecords,
): Promise<void> {
  const { organizationId } = call.caller;
  const { commandIds } = completed;
  faultPoint("gateway.published");
  if (!(await admission.markCompleted(organizationId, completed))) {
    countLateRecords(commandIds.length);
    throw new ApiError("DEPENDENCY_UNAVAILABLE", {
      headers: RETRY_AFTER_HEADERS,
      cause: new Error(
        `the idempotency record of command ${commandIds.join(", ")} was open for too long: an equal request may have reclaimed it`,
      ),
    });
  }
  faultPoint("gateway.answered");
  // Without the confirmation, the response to an equal request may contain the passwords again.
  if (completed.hasPasswords === true) {
    admission.confirmCompleted(organizationId, completed).catch(() => countUnconfirmedRecords(commandIds.length));
  }
}

function duplicate(request: QueueRequest, { command, derivationKeyId }: AnsweredCommand): Answer {
  const envelope = { command, duplicate: true, ...request.everyAnswerFields?.(command.id, derivationKeyId) };
  return { status: 200, body: JSON.stringify(envelope), replayed: true, commandId: command.id };
}

/**
 * The current command: `known`, else from command-status, else `recorded` (the message of the
 * idempotency record).
 */
export async function currentCommand(
  { commandStatus }: Pick<Dependencies, "commandStatus">,
  commandId: string,
  known: KnownCommand | null,
  recorded: AnyCommandMessage | null,
): Promise<AnsweredCommand> {
  const now = known ?? (await commandStatus.lookUp(commandId));
  if (now !== null) return now;
  if (recorded !== null) return queuedAnswer(recorded);
  throw new ApiError("DEPENDENCY_UNAVAILABLE", {
    headers: RETRY_AFTER_HEADERS,
    cause: new Error(`command ${commandId} is neither in its idempotency record nor in command-status`),
  });
}

/** A published command, in the form of a response. */
export function queuedAnswer(message: AnyCommandMessage): AnsweredCommand {
  return { command: queuedCommand(message), derivationKeyId: message.derivationKeyId };
}

/** The error if the key was used for a different request. */
export function keyReused(request: QueueRequest): ApiError {
  return new ApiError("IDEMPOTENCY_KEY_REUSED", { status: request.reusedStatus });
}

/** The error if an equal request holds an idempotency record open for too long. */
export function recordStillOpen(): ApiError {
  return new ApiError("DEPENDENCY_UNAVAILABLE", { headers: RETRY_AFTER_HEADERS });
}
