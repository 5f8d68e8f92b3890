import type { NewRecord, RecordOutcome } from "@kapi/admission";
import { type AnyCommandMessage, ERRORS, type Issue } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { assertDefined } from "@kapi/kernel";
import { faultPoint } from "@kapi/runtime";

import type { KnownCommand } from "../domain/ports.ts";
import type { Answer, Call } from "./call.ts";
import { CREATION_PATH } from "./creation.ts";
import {
  answerClaims,
  claimOf,
  claimOrWait,
  commandAsItIs,
  findEarlier,
  firstFinding,
  keyReused,
  publish,
  publishClaimed,
  queuedAnswer,
  type QueueDependencies,
  type QueueRequest,
  stillOpen,
  takenOverNow,
  wishOf,
} from "./queue-command.ts";

const BAD_REQUEST = 400;

/** One creation of a bulk on its way. */
interface Item {
  readonly request: QueueRequest;
  readonly message: AnyCommandMessage;
  readonly claim: NewRecord;
  readonly known: KnownCommand | null;
}

/** An outcome that makes the command this request's to publish and to answer. */
type Held = Extract<RecordOutcome, { recordToken: string }>;

/**
 * Queues the creations of a bulk: the way of `queueCommand`, each step taken once for all
 * (decisions, 2.3 and 4.9). One that may not be queued refuses them all; what was queued before is
 * answered as it is; the rest is claimed in one admission, published in one produce request, and
 * marked answered all or none. One price per new item.
 */
export async function queueBulk(
  dependencies: QueueDependencies,
  call: Call,
  requests: readonly QueueRequest[],
): Promise<Answer> {
  const contract = { path: CREATION_PATH, price: call.contract.price };
  const found = await Promise.all(
    requests.map(async (request) => {
      const { known, finding, message } = await findEarlier(
        dependencies,
        request,
        wishOf(dependencies, call, request, contract),
      );
      return { item: { request, message, claim: claimOf(message), known }, finding };
    }),
  );
  const finding = refusalOfBulk(found.map((one) => one.finding));
  if (finding !== null) return call.charge.refuse(finding);
  const items = found.map(({ item }): Item => item);
  const outcomes = await claimOrWait(
    dependencies,
    call,
    items.map(({ claim }) => claim),
    items.map(({ known }) => known !== null),
  );
  const reused = refusalOfBulk(
    items.map(({ request }, index) => (outcomes[index]?.kind === "mismatch" ? keyReused(request) : null)),
  );
  if (reused !== null) throw reused;
  if (outcomes.some(({ kind }) => kind === "open" || kind === "skipped")) throw stillOpen();
  const nowMs = dependencies.clock.nowMs();
  return answerAll(
    dependencies,
    call,
    items,
    outcomes.map((outcome) => timedNow(outcome, nowMs)),
  );
}

/**
 * Why a bulk is refused: the first finding in the order of statuses. A 400 has the findings of all
 * items as issues. A 409, which has no issues (decisions, 1.2), names in its text the items whose
 * key was used.
 */
function refusalOfBulk(findings: readonly (ApiError | null)[]): ApiError | null {
  const first = firstFinding(findings);
  if (first === null) return null;
  const { code, status, message } = first;
  if (status === BAD_REQUEST) {
    const issues = findings.flatMap((finding, index) => (finding === null ? [] : issuesOfItem(finding, index)));
    return new ApiError(code, { issues });
  }
  if (code !== "IDEMPOTENCY_KEY_REUSED") return first;
  const items = findings.flatMap((finding, index) => (finding?.code === code ? [`accounts[${index}]`] : []));
  return new ApiError(code, { status, text: `${message}: ${items.join(", ")}` });
}

/** None for a finding that is not the item's own, such as a disabled server. */
function issuesOfItem({ code, message }: ApiError, index: number): Issue[] {
  if (code === "LEVERAGE_NOT_SUPPORTED") return [unsupportedLeverage(index)];
  if (code === "IDEMPOTENCY_KEY_REUSED")
    return [{ path: ["accounts", index], code: "idempotency_key_reused", message }];
  return [];
}

/** Says of an item of a bulk that the server does not support its leverage. */
export function unsupportedLeverage(index: number): Issue {
  const { text: message } = ERRORS.LEVERAGE_NOT_SUPPORTED;
  return { path: ["accounts", index, "leverage"], code: "leverage_not_supported", message };
}

/** A claim that is taken over, with the times of now. */
function timedNow(outcome: RecordOutcome, nowMs: number): RecordOutcome {
  if (outcome.kind !== "reclaimed" || outcome.message === null) return outcome;
  return { ...outcome, message: takenOverNow(outcome.message, nowMs) };
}

/** Publishes and answers what this request holds; what it does not hold is answered as it is. */
async function answerAll(
  dependencies: QueueDependencies,
  call: Call,
  items: readonly Item[],
  outcomes: readonly RecordOutcome[],
): Promise<Answer> {
  const done = items.map((item, index) => ({ item, outcome: assertDefined(outcomes[index], "an outcome per claim") }));
  const commandIds = done.filter(({ outcome }) => isHeld(outcome)).map(({ item }) => item.message.commandId);
  const recordToken = outcomes.find(isHeld)?.recordToken;
  if (recordToken !== undefined) faultPoint("gateway.claimed");
  // All are sent in one turn of the event loop: the producer puts them into one request. All have
  // ended before any failure is told, for what may be published decides what is given back.
  const sent = await Promise.allSettled(
    done.map(({ item, outcome }) => publishHeld(dependencies, call, item, outcome)),
  );
  for (const result of sent) if (result.status === "rejected") throw result.reason;
  const results = await Promise.all(done.map(({ item, outcome }) => envelopeOf(dependencies, item, outcome)));
  const hasPasswords = true;
  if (recordToken !== undefined)
    await answerClaims(dependencies.admission, call, { commandIds, recordToken, hasPasswords });
  return { status: 202, body: JSON.stringify({ results }), replayed: recordToken === undefined };
}

function isHeld(outcome: RecordOutcome): outcome is Held {
  return outcome.kind === "created" || outcome.kind === "reclaimed";
}

/**
 * Of a claim that was taken over the first request's message is published, unless the command is
 * final already.
 */
async function publishHeld(
  dependencies: QueueDependencies,
  call: Call,
  { message, claim }: Item,
  outcome: RecordOutcome,
): Promise<void> {
  if (outcome.kind === "created") await publishClaimed(dependencies, call, message, claim.message, outcome.chargeId);
  else if (outcome.kind === "reclaimed" && outcome.message !== null) {
    await publish(dependencies, call, outcome.message, JSON.stringify(outcome.message));
  }
}

/** The envelope of one item; the passwords only where this request answers it first. */
async function envelopeOf(
  dependencies: QueueDependencies,
  { request, message, known }: Item,
  outcome: RecordOutcome,
): Promise<Readonly<Record<string, unknown>>> {
  const { commandId } = message;
  if (isHeld(outcome)) {
    const first = outcome.kind === "created" ? message : outcome.message;
    const answered = first === null ? await commandAsItIs(dependencies, commandId, known, null) : queuedAnswer(first);
    const { command, derivationKeyId } = answered;
    return { command, duplicate: false, ...request.oneTime?.(commandId, derivationKeyId) };
  }
  const claimed = outcome.kind === "duplicate" ? outcome.message : null;
  const { command } = await commandAsItIs(dependencies, commandId, known, claimed);
  return { command, duplicate: true };
}
