import type { NewRecord, RecordOutcome } from "@kapi/admission";
import { type AnyCommandMessage, ERRORS, type Issue } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { assertDefined } from "@kapi/kernel";
import { faultPoint } from "@kapi/runtime";

import type { KnownCommand } from "../domain/ports.ts";
import type { Answer, Call } from "./call.ts";
import { CREATION_PATH } from "./creation.ts";
import {
  completeRecords,
  openRecordOf,
  admitOrWait,
  currentCommand,
  findEarlierRequest,
  firstRejection,
  keyReused,
  publish,
  publishNew,
  queuedAnswer,
  type QueueDependencies,
  type QueueRequest,
  recordStillOpen,
  reclaimedMessage,
  proposedCommandOf,
} from "./queue-command.ts";

const BAD_REQUEST = 400;

/** One creation of a bulk. */
interface Item {
  readonly request: QueueRequest;
  readonly message: AnyCommandMessage;
  readonly record: NewRecord;
  readonly known: KnownCommand | null;
}

/**
 * The outcome of a record that this request holds. The request publishes the command, unless the
 * command is final already, and returns the command with `duplicate` false.
 */
type Held = Extract<RecordOutcome, { recordToken: string }>;

/**
 * Queues the creations of a bulk: the steps of `queueCommand`, once for all items (decisions, 2.3
 * and 4.9). One rejected item rejects the bulk. All items are admitted in one call. Items that
 * were queued before are returned with their current command. The items that this request holds
 * are published in one produce request to each broker, and completed all or none. Each new item
 * costs the price `bulkItem`.
 */
export async function queueBulk(
  dependencies: QueueDependencies,
  call: Call,
  requests: readonly QueueRequest[],
): Promise<Answer> {
  const contract = { path: CREATION_PATH, price: call.contract.price };
  const found = await Promise.all(
    requests.map(async (request) => {
      const { known, rejection, message } = await findEarlierRequest(
        dependencies,
        request,
        proposedCommandOf(dependencies, call, request, contract),
      );
      return { item: { request, message, record: openRecordOf(message), known }, rejection };
    }),
  );
  const rejection = bulkRejection(found.map((one) => one.rejection));
  if (rejection !== null) return call.charge.reject(rejection);
  const items = found.map(({ item }): Item => item);
  const outcomes = await admitOrWait(
    call,
    items.map(({ record }) => record),
    items.map(({ known }) => known !== null),
  );
  const reused = bulkRejection(
    items.map(({ request }, index) => (outcomes[index]?.kind === "mismatch" ? keyReused(request) : null)),
  );
  if (reused !== null) throw reused;
  if (outcomes.some(({ kind }) => kind === "open" || kind === "skipped")) throw recordStillOpen();
  const nowMs = dependencies.clock.nowMs();
  return answerAll(
    dependencies,
    call,
    items,
    outcomes.map((outcome) => withCurrentTimes(outcome, nowMs)),
  );
}

/**
 * Why a bulk is rejected: the first rejection in the order of statuses. A 400 has an issue for each
 * item with an unsupported leverage or a reused key. A 409 has no issues (decisions, 1.2), so the
 * text of IDEMPOTENCY_KEY_REUSED names the items whose key was used for a different request.
 */
function bulkRejection(rejections: readonly (ApiError | null)[]): ApiError | null {
  const first = firstRejection(rejections);
  if (first === null) return null;
  const { code, status, message } = first;
  if (status === BAD_REQUEST) {
    const issues = rejections.flatMap((rejection, index) => (rejection === null ? [] : issuesOfItem(rejection, index)));
    return new ApiError(code, { issues });
  }
  if (code !== "IDEMPOTENCY_KEY_REUSED") return first;
  const items = rejections.flatMap((rejection, index) => (rejection?.code === code ? [`accounts[${index}]`] : []));
  return new ApiError(code, { status, text: `${message}: ${items.join(", ")}` });
}

/** Empty for a rejection that does not concern an item, such as a disabled server. */
function issuesOfItem({ code, message }: ApiError, index: number): Issue[] {
  if (code === "LEVERAGE_NOT_SUPPORTED") return [unsupportedLeverage(index)];
  if (code === "IDEMPOTENCY_KEY_REUSED")
    return [{ path: ["accounts", index], code: "idempotency_key_reused", message }];
  return [];
}

/** The issue of an item whose leverage the server does not support. */
export function unsupportedLeverage(index: number): Issue {
  const { text: message } = ERRORS.LEVERAGE_NOT_SUPPORTED;
  return { path: ["accounts", index, "leverage"], code: "leverage_not_supported", message };
}

/** The outcome, with current times if the record was reclaimed. */
function withCurrentTimes(outcome: RecordOutcome, nowMs: number): RecordOutcome {
  if (outcome.kind !== "reclaimed" || outcome.message === null) return outcome;
  return { ...outcome, message: reclaimedMessage(outcome.message, nowMs) };
}

/**
 * Publishes and completes the items that this request holds. Other items are returned with their
 * current command.
 */
async function answerAll(
  dependencies: Pick<QueueDependencies, "admission" | "commandLog" | "commandStatus">,
  call: Call,
  items: readonly Item[],
  outcomes: readonly RecordOutcome[],
): Promise<Answer> {
  const outcomesOfItems = items.map((item, index) => ({
    item,
    outcome: assertDefined(outcomes[index], "the outcome of a record"),
  }));
  const commandIds = outcomesOfItems.filter(({ outcome }) => isHeld(outcome)).map(({ item }) => item.message.commandId);
  const recordToken = outcomes.find(isHeld)?.recordToken;
  if (recordToken !== undefined) faultPoint("gateway.claimed");
  // All messages are sent in one turn of the event loop, so that the producer sends one request to
  // each broker. A failure is thrown only after the last send has ended, because the refund must
  // know which messages may be in the log: it keeps only the reservations of these messages.
  const sent = await Promise.allSettled(
    outcomesOfItems.map(({ item, outcome }) => publishHeld(dependencies, call, item, outcome)),
  );
  for (const result of sent) if (result.status === "rejected") throw result.reason;
  const results = await Promise.all(
    outcomesOfItems.map(({ item, outcome }) => envelopeOf(dependencies, item, outcome)),
  );
  const hasPasswords = true;
  if (recordToken !== undefined)
    await completeRecords(dependencies.admission, call, { commandIds, recordToken, hasPasswords });
  return { status: 202, body: JSON.stringify({ results }), replayed: recordToken === undefined };
}

function isHeld(outcome: RecordOutcome): outcome is Held {
  return outcome.kind === "created" || outcome.kind === "reclaimed";
}

/**
 * Publishes a held item. A reclaimed record has the first request's message, or null if the command
 * is final already.
 */
async function publishHeld(
  dependencies: Pick<QueueDependencies, "commandLog">,
  call: Call,
  { message, record }: Item,
  outcome: RecordOutcome,
): Promise<void> {
  if (outcome.kind === "created") await publishNew(dependencies, call, message, record.message, outcome.chargeId);
  else if (outcome.kind === "reclaimed" && outcome.message !== null) {
    await publish(dependencies, call, outcome.message, JSON.stringify(outcome.message));
  }
}

/** The envelope of one item. It has the passwords only if this request holds the item. */
async function envelopeOf(
  dependencies: Pick<QueueDependencies, "commandStatus">,
  { request, message, known }: Item,
  outcome: RecordOutcome,
): Promise<Readonly<Record<string, unknown>>> {
  const { commandId } = message;
  if (isHeld(outcome)) {
    const first = outcome.kind === "created" ? message : outcome.message;
    const answered = first === null ? await currentCommand(dependencies, commandId, known, null) : queuedAnswer(first);
    const { command, derivationKeyId } = answered;
    return { command, duplicate: false, ...request.firstAnswerFields?.(commandId, derivationKeyId) };
  }
  const recorded = outcome.kind === "duplicate" ? outcome.message : null;
  const { command } = await currentCommand(dependencies, commandId, known, recorded);
  return { command, duplicate: true };
}
