import type { CompletedRecords, NewRecord, RecordOutcome } from "@kapi/admission";
import {
  type Command,
  type AnyCommandMessage,
  type CommandOperation,
  type OperationContract,
  queuedCommand,
} from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { assert, commandIdOf, delay } from "@kapi/kernel";
import { faultPoint } from "@kapi/runtime";

import { type CommandDraft, commandMessageOf, commandTimes } from "../domain/command-message.ts";
import { earlierFingerprintOf, fingerprintOf } from "../domain/fingerprint.ts";
import { type KnownCommand, NotPublished } from "../domain/ports.ts";
import type { Answer, Call } from "./call.ts";
import type { RequestCharge } from "./request-charge.ts";
import { countClaims, countLateClaims, countUnconfirmedClaims } from "./claim-counts.ts";
import type { Dependencies } from "./dependencies.ts";

/** How often a request looks again whether the equal request before it was answered. */
const OPEN_CLAIM_POLL_MS = 50;
/**
 * How long it does so: a claim is open for 5 s (decisions, 2.6), and then it is answered or ours.
 */
const OPEN_CLAIM_WAIT_MS = 8_000;

/**
 * How long after a password reset that release 0.1.0 accepted a repeat is answered, whichever key
 * it comes from: that fingerprint does not include the key. As long as Redis remembers an
 * idempotency key (decisions, 2.5). Later repeats are refused as IDEMPOTENCY_KEY_REUSED.
 */
export const EARLIER_RESET_REPEATABLE_MS = 3_600_000;

const RETRY_AFTER_HEADERS = { "retry-after": "1" };

/** What queueing a command takes. */
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

/** A mutation whose path, header and body are in order. */
export interface QueueRequest {
  readonly operation: CommandOperation;
  readonly serverId: string;
  readonly accountNumber: string | null;
  readonly idempotencyKey: string;
  readonly body: CommandDraft["body"];
  readonly state: () => Promise<RequestState>;
  /** Status of a key that was used for another request (decisions, 2.3). */
  readonly reusedStatus: 400 | 409;
  /** What only the answer to the first request carries, as members of the envelope. */
  readonly oneTime?: OneTimeParts;
  /** What every answer carries, that to a repeat too. */
  readonly everyTime?: OneTimeParts;
}

/** What server and account say about a request. */
export interface RequestState {
  /** What stands against it: 400 before 404 before 409; null: nothing. */
  readonly finding: ApiError | null;
  /** The id of the account that it concerns; null: not known, or a creation. */
  readonly accountId: string | null;
}

/** The command that a request asks for, before earlier requests are looked up. */
export interface CommandWish {
  readonly message: AnyCommandMessage;
  /** The fingerprint of the same request in release 0.1.0; null: the same. */
  readonly earlierFingerprint: string | null;
}

/**
 * Makes the members of an envelope that no command shows. `derivationKeyId` is that of the first
 * request's message: the key may have been rotated since.
 */
export type OneTimeParts = (commandId: string, derivationKeyId: string | null) => Readonly<Record<string, unknown>>;

/** A command as it is answered, and the key that its generated passwords are derived with. */
export interface AnsweredCommand {
  readonly command: Command;
  readonly derivationKeyId: string | null;
}

/**
 * Queues a command, once per idempotency key (decisions, 2; architecture, 3.2): look-up → admission
 * with the claim → publish → answered → 202. An equal request before it makes it a 200 with that
 * command; a different one is refused.
 */
export async function queueCommand(
  dependencies: QueueDependencies,
  call: Call,
  request: QueueRequest,
): Promise<Answer> {
  const wish = wishOf(dependencies, call, request, call.contract);
  const { known, finding, message } = await findEarlier(dependencies, request, wish);
  if (finding !== null) return call.charge.refuse(finding);
  const claim = claimOf(message);
  const [outcome] = await claimOrWait(dependencies, call, [claim], [known !== null]);
  assert(outcome !== undefined, "one claim has one outcome");
  switch (outcome.kind) {
    case "created":
      faultPoint("gateway.claimed");
      await publishClaimed(dependencies, call, message, claim.message, outcome.chargeId);
      return accepted(dependencies, call, request, queuedAnswer(message), outcome.recordToken);
    case "reclaimed":
      return takeOver(dependencies, call, request, outcome.message, outcome.recordToken);
    case "duplicate":
      return duplicate(request, await commandAsItIs(dependencies, message.commandId, known, outcome.message));
    case "mismatch":
      throw keyReused(request);
    case "open":
    case "skipped":
      throw stillOpen();
  }
}

/** The command that a request asks for. `contract` says its path and what it costs. */
export function wishOf(
  dependencies: QueueDependencies,
  call: Call,
  request: QueueRequest,
  contract: Pick<OperationContract, "path" | "price">,
): CommandWish {
  const { organizationId, keyId } = call.key;
  const { operation, serverId, accountNumber, idempotencyKey, body } = request;
  const commandId = commandIdOf(organizationId, idempotencyKey);
  const path = contract.path.replace(":serverId", serverId).replace(":accountNumber", accountNumber ?? "");
  const judged = { operation, path, body, keyId };
  const fingerprint = fingerprintOf(judged, dependencies.fingerprintKey);
  const price = dependencies.prices()[contract.price];
  const nowMs = dependencies.clock.nowMs();
  const asked = {
    organizationId,
    keyId,
    address: call.address,
    serverId,
    accountNumber,
    operation,
    idempotencyKey,
    body,
  };
  const message = commandMessageOf({ ...asked, commandId, fingerprint, price, nowMs }, dependencies);
  return { message, earlierFingerprint: earlierFingerprintOf(judged, dependencies.fingerprintKey) };
}

/** The claim on the command that a message names. */
export function claimOf(message: AnyCommandMessage): NewRecord {
  const { commandId, fingerprint, reservedCredits } = message;
  return { commandId, fingerprint, message: JSON.stringify(message), credits: reservedCredits };
}

/** What came before a request, and the message that it queues where nothing did. */
export interface Earlier {
  /** The command of an equal request, where command-status has it. */
  readonly known: KnownCommand | null;
  readonly finding: ApiError | null;
  readonly message: AnyCommandMessage;
}

/**
 * The command of an equal earlier request, if command-status has it, and what stands against the
 * request: of several things the first in the order 400, 404, 409. What state says does not stand
 * against the repeat of a request that was accepted before the state changed.
 */
export async function findEarlier(
  dependencies: QueueDependencies,
  request: QueueRequest,
  wish: CommandWish,
): Promise<Earlier> {
  const { commandId, organizationId } = wish.message;
  const [known, { finding, accountId }] = await Promise.all([
    dependencies.commandStatus.lookUp(commandId),
    request.state(),
  ]);
  const message = { ...wish.message, managedAccountId: wish.message.managedAccountId ?? accountId };
  if (known !== null) {
    assert(known.organizationId === organizationId, "a command id belongs to one organization");
    const fingerprint = equalFingerprint(wish, known.fingerprint, known.command.createdAt, dependencies.clock.nowMs());
    if (fingerprint !== null) return { known, finding: null, message: { ...message, fingerprint } };
    return { known: null, finding: firstFinding([finding, keyReused(request)]), message };
  }
  // Admission compares with the claim, but not by the fingerprint of release 0.1.0.
  if (finding === null && wish.earlierFingerprint === null) return { known, finding, message };
  const claimed = await dependencies.admission.recordedMessage(organizationId, commandId);
  if (claimed === null) return { known, finding, message };
  const fingerprint = equalFingerprint(wish, claimed.fingerprint, claimed.createdAt, dependencies.clock.nowMs());
  if (fingerprint !== null) return { known, finding: null, message: { ...message, fingerprint } };
  return { known, finding: firstFinding([finding, keyReused(request)]), message };
}

/**
 * The fingerprint of an earlier request if that is the same request, else null. A fingerprint of
 * release 0.1.0 counts for {@link EARLIER_RESET_REPEATABLE_MS}.
 */
export function equalFingerprint(
  { message, earlierFingerprint }: CommandWish,
  fingerprint: string,
  createdAt: string,
  nowMs: number,
): string | null {
  if (fingerprint === message.fingerprint) return fingerprint;
  const isRepeatable = nowMs - Date.parse(createdAt) < EARLIER_RESET_REPEATABLE_MS;
  return fingerprint === earlierFingerprint && isRepeatable ? fingerprint : null;
}

/** Of what stands against a request, what is told: 400 before 404 before 409 (decisions, 1.1). */
export function firstFinding(findings: readonly (ApiError | null)[]): ApiError | null {
  return findings.reduce(
    (first, finding) => (first === null || (finding !== null && finding.status < first.status) ? finding : first),
    null,
  );
}

/**
 * Admits the request with all its claims; while an equal one is at work on any of them, waits for
 * it.
 */
export async function claimOrWait(
  { clock }: Pick<Dependencies, "clock">,
  call: Call,
  claims: readonly NewRecord[],
  knownDuplicates: readonly boolean[],
): Promise<readonly RecordOutcome[]> {
  const giveUpAtMs = clock.nowMs() + OPEN_CLAIM_WAIT_MS;
  for (;;) {
    const admitted = await call.charge.reserve(claims, knownDuplicates);
    const isOpen = admitted.records.some((outcome) => outcome.kind === "open");
    if (!isOpen || clock.nowMs() >= giveUpAtMs) {
      countClaims(admitted.records);
      return admitted.records;
    }
    await delay(OPEN_CLAIM_POLL_MS);
  }
}

/**
 * Publishes what the request holds. Until it is certain that it is not in the log, its reservation
 * stays.
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
 * Publishes what the request has claimed. The message names its reservation where that is not the
 * command's id.
 */
export function publishClaimed(
  dependencies: Pick<Dependencies, "commandLog">,
  call: Call,
  message: AnyCommandMessage,
  value: string,
  chargeId: string | null,
): Promise<void> {
  if (chargeId === null) return publish(dependencies, call, message, value);
  const named = { ...message, chargeId };
  return publish(dependencies, call, named, JSON.stringify(named));
}

/**
 * The message of a claim that is taken over, with the times of now: the first request may have made
 * it long ago, and the command would expire at once. All else stays, for it may have been
 * published; of two copies the one that comes first counts, by its id.
 */
export function takenOverNow(message: AnyCommandMessage, nowMs: number): AnyCommandMessage {
  return { ...message, ...commandTimes(message.operation, nowMs) };
}

/**
 * Does what a request that claimed the command never came to do. Without a message the command is
 * final already.
 */
async function takeOver(
  dependencies: QueueDependencies,
  call: Call,
  request: QueueRequest,
  message: AnyCommandMessage | null,
  recordToken: string,
): Promise<Answer> {
  if (message !== null) {
    const now = takenOverNow(message, dependencies.clock.nowMs());
    await publish(dependencies, call, now, JSON.stringify(now));
    return accepted(dependencies, call, request, queuedAnswer(now), recordToken);
  }
  const commandId = commandIdOf(call.key.organizationId, request.idempotencyKey);
  return accepted(dependencies, call, request, await commandAsItIs(dependencies, commandId, null, null), recordToken);
}

/**
 * The 202, unless it would come too late: then another request may be answering in this one's
 * place.
 */
async function accepted(
  { admission }: Pick<Dependencies, "admission">,
  call: Call,
  request: QueueRequest,
  { command, derivationKeyId }: AnsweredCommand,
  recordToken: string,
): Promise<Answer> {
  const hasPasswords = request.oneTime !== undefined;
  await answerClaims(admission, call, { commandIds: [command.id], recordToken, hasPasswords });
  return {
    status: 202,
    body: JSON.stringify({
      command,
      duplicate: false,
      ...request.oneTime?.(command.id, derivationKeyId),
      ...request.everyTime?.(command.id, derivationKeyId),
    }),
  };
}

/** Marks what was published as answered, all or none. Throws where the 202 would come too late. */
export async function answerClaims(
  admission: Dependencies["admission"],
  call: Call,
  answered: CompletedRecords,
): Promise<void> {
  const { organizationId } = call.key;
  const { commandIds } = answered;
  faultPoint("gateway.published");
  if (!(await admission.markCompleted(organizationId, answered))) {
    countLateClaims(commandIds.length);
    throw new ApiError("DEPENDENCY_UNAVAILABLE", {
      headers: RETRY_AFTER_HEADERS,
      cause: new Error(`the claim on command ${commandIds.join(", ")} is no longer this request's to answer`),
    });
  }
  faultPoint("gateway.answered");
  // Where this fails, an equal request may answer the passwords too.
  if (answered.hasPasswords === true) {
    admission.confirmCompleted(organizationId, answered).catch(() => countUnconfirmedClaims(commandIds.length));
  }
}

function duplicate(request: QueueRequest, { command, derivationKeyId }: AnsweredCommand): Answer {
  const envelope = { command, duplicate: true, ...request.everyTime?.(command.id, derivationKeyId) };
  return { status: 200, body: JSON.stringify(envelope), replayed: true };
}

/**
 * What command-status said before the claim, or says now; what the claim holds where it does not
 * have it yet.
 */
export async function commandAsItIs(
  { commandStatus }: Pick<Dependencies, "commandStatus">,
  commandId: string,
  known: KnownCommand | null,
  claimed: AnyCommandMessage | null,
): Promise<AnsweredCommand> {
  const now = known ?? (await commandStatus.lookUp(commandId));
  if (now !== null) return now;
  if (claimed !== null) return queuedAnswer(claimed);
  throw new ApiError("DEPENDENCY_UNAVAILABLE", {
    headers: RETRY_AFTER_HEADERS,
    cause: new Error(`command ${commandId} is neither with its claim nor in command-status`),
  });
}

/** The answer's part of a command that was just published. */
export function queuedAnswer(message: AnyCommandMessage): AnsweredCommand {
  return { command: queuedCommand(message), derivationKeyId: message.derivationKeyId };
}

/** The key was used for another request. */
export function keyReused(request: QueueRequest): ApiError {
  return new ApiError("IDEMPOTENCY_KEY_REUSED", { status: request.reusedStatus });
}

/** An equal request is at work on the command for longer than it may be. */
export function stillOpen(): ApiError {
  return new ApiError("DEPENDENCY_UNAVAILABLE", { headers: RETRY_AFTER_HEADERS });
}
