import { ATTRIBUTE, isTracing, type Span, startSpan } from "@kapi/runtime";
import { Change, type RefusalCode } from "@kapi/trading-server";

import { applyChange, type ChangeResult, type PasswordHashes } from "../domain/changes.ts";
import { hashPassword } from "../domain/password-hash.ts";
import type { Engine, RecordingDesk } from "./engine.ts";
import type { LookUp } from "./references.ts";
import type { TradingServer } from "./server.ts";

/** A change as it came, with a readable reference; `refusal` where a fault refuses it. */
export interface SubmittedChange {
  readonly reference: string;
  readonly body: unknown;
  readonly refusal?: { readonly code: RefusalCode; readonly message: string };
}

/**
 * Carries out changes in their order, one outcome each (JSON text), when they are stored. A reference that has an outcome
 * keeps it; its change does nothing.
 */
export async function executeChanges(
  engine: Engine,
  server: TradingServer,
  changes: readonly SubmittedChange[],
): Promise<string[]> {
  engine.refuseWhenFull();
  const { serverId } = server;
  const references = changes.map((change) => change.reference);
  const spans = startSpans(serverId, changes);
  const lookUp = await engine.references.lookUp(serverId, references);
  try {
    const hashes = await hashPasswords(changes, lookUp);
    const desk = engine.desk(server);
    const outcomes = changes.map((change) => {
      const known = lookUp.find(change.reference);
      if (known !== undefined) return known;
      desk.traceparent = spans?.get(change.reference)?.traceparent;
      const outcome = decide(engine, server, desk, change, hashes.get(change.reference));
      engine.references.remember(serverId, change.reference, outcome);
      return outcome;
    });
    await engine.committer.stored();
    return outcomes;
  } finally {
    lookUp.release();
    for (const span of spans?.values() ?? []) span.end();
  }
}

/** A span for each change that belongs to a trace, by reference; null where nothing is traced. */
function startSpans(serverId: string, changes: readonly SubmittedChange[]): Map<string, Span> | null {
  if (!isTracing()) return null;
  const spans = new Map<string, Span>();
  for (const { reference, body } of changes) {
    if (typeof body !== "object" || body === null || !("traceparent" in body && "type" in body)) continue;
    if (typeof body.traceparent !== "string") continue;
    const attributes = {
      [ATTRIBUTE.tradingServer]: serverId,
      [ATTRIBUTE.commandId]: reference,
      [ATTRIBUTE.batchSize]: changes.length,
    };
    const span = startSpan(`change ${String(body.type)}`, { role: "internal", parent: body.traceparent, attributes });
    if (span !== null) spans.set(reference, span);
  }
  return spans;
}

/** JSON text of the outcome of a reference whose change made `event` (JSON text). */
export function appliedOutcome(reference: string, event: string): string {
  return `{"reference":${JSON.stringify(reference)},"status":"applied","event":${event}}`;
}

function decide(
  engine: Engine,
  server: TradingServer,
  desk: RecordingDesk,
  submitted: SubmittedChange,
  hashes: PasswordHashes | undefined,
): string {
  const { reference } = submitted;
  const { accountNumber, result } = apply(server, desk, submitted, hashes);
  if (result.applied && result.event !== null) {
    const { account, event } = result;
    if (event.type === "account.created") server.accounts.set(account.accountNumber, account);
    if (event.type === "account.deleted") server.reindex(account);
    else if (event.type !== "account.password_changed") engine.changed(server, desk, account);
    return appliedOutcome(reference, desk.lastEventText);
  }
  const outcome = JSON.stringify(
    result.applied
      ? { reference, status: "applied", event: null }
      : { reference, status: "refused", code: result.code, message: result.message },
  );
  engine.committer.append({
    serverId: server.serverId,
    accountNumber,
    sequence: null,
    reference,
    event: null,
    outcome,
  });
  return outcome;
}

function apply(
  server: TradingServer,
  desk: RecordingDesk,
  { body, refusal }: SubmittedChange,
  hashes: PasswordHashes | undefined,
): { accountNumber: string | null; result: ChangeResult } {
  const change = Change.safeParse(body);
  if (!change.success) {
    const [issue] = change.error.issues;
    const message = `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "no valid change"}`;
    return { accountNumber: null, result: { applied: false, code: "INVALID_CHANGE", message } };
  }
  const { accountNumber } = change.data;
  desk.createdBy = change.data.createdBy;
  if (refusal !== undefined) return { accountNumber, result: { applied: false, ...refusal } };
  const context = {
    serverId: server.serverId,
    supportedLeverage: server.configuration.supportedLeverage,
    account: server.accounts.get(accountNumber),
    hashes,
  };
  return { accountNumber, result: applyChange(desk, context, change.data) };
}

/** Hashes the passwords of the changes that are new, side by side, before the accounts are looked at. */
async function hashPasswords(
  changes: readonly SubmittedChange[],
  lookUp: LookUp,
): Promise<Map<string, PasswordHashes>> {
  const hashes = new Map<string, PasswordHashes>();
  const hashing = changes.map(async ({ reference, body }) => {
    const passwords = passwordsOf(body);
    if (passwords === null || lookUp.find(reference) !== undefined) return;
    const [trading, investor] = await Promise.all([hashPassword(passwords[0]), hashPassword(passwords[1])]);
    hashes.set(reference, { trading, investor });
  });
  await Promise.all(hashing);
  return hashes;
}

function passwordsOf(body: unknown): [trading: string, investor: string] | null {
  if (typeof body !== "object" || body === null || !("type" in body)) return null;
  if (body.type !== "create" && body.type !== "set_password") return null;
  const change = Change.safeParse(body);
  if (!change.success) return null;
  if (change.data.type === "create") return [change.data.tradingPassword, change.data.investorPassword];
  return change.data.type === "set_password" ? [change.data.password, change.data.password] : null;
}
