/**
 * Usage entries as legs of the ledger. Some entries ask for the refund of a charge that Redis
 * cannot judge: its tag was opened anew since the charge, or it does not remember the charge. The
 * wallet was set from the ledger, which may have the charge, its refund, or neither. So Redis only
 * asks, and the ledger gives back what it has.
 */
import type { UsageEntry } from "@kapi/admission/redis";

import type { Leg, RecordedLeg } from "../../domain/credits/leg.ts";
import type { CreditTransaction } from "../../domain/credits/ports.ts";

/** Usage entries as legs, and which of these are refunds that the ledger gives by itself. */
export interface UsageLegs {
  readonly legs: readonly Leg[];
  readonly asked: ReadonlySet<string>;
}

/** The legs that entries tell of. What was never consumed is not given back. */
export async function usageLegs(tx: CreditTransaction, entries: readonly UsageEntry[]): Promise<UsageLegs> {
  const legs = entries.filter(({ asksLedger }) => asksLedger !== true).map(legFromEntry);
  const questions = entries.filter(({ asksLedger }) => asksLedger === true);
  if (questions.length === 0) return { legs, asked: new Set() };
  const consumed = new Map(await tx.readConsumed(questions.map(({ chargeId }) => chargeId)));
  for (const { kind, chargeId, credits } of legs) if (kind === "consume") consumed.set(chargeId, credits);
  const refunds = questions.flatMap((entry) => {
    const credits = consumed.get(entry.chargeId);
    return credits === undefined ? [] : [{ ...legFromEntry(entry), credits }];
  });
  return { legs: legs.concat(refunds), asked: new Set(refunds.map(({ chargeId }) => chargeId)) };
}

/** The refunds that are new have the tag opened once more: no wallet in Redis has them. */
export async function keepAskedRefunds(
  tx: CreditTransaction,
  { asked }: UsageLegs,
  recorded: readonly RecordedLeg[],
): Promise<void> {
  const refunds = recorded.filter(({ leg, isNew }) => isNew && leg.kind === "refund" && asked.has(leg.chargeId));
  await tx.insertPending(
    refunds.map(({ leg: { chargeId, organizationId, credits }, epoch }) => ({
      chargeId,
      organizationId,
      kind: "release" as const,
      credits,
      epoch,
      isOld: true,
    })),
  );
}

/** The leg that an entry tells of. */
export function legFromEntry(entry: UsageEntry): Leg {
  return {
    chargeId: entry.chargeId,
    kind: entry.kind === "release" ? "settle" : entry.kind,
    organizationId: entry.organizationId,
    credits: entry.credits,
    action: entry.kind === "release" ? "release" : null,
    operation: entry.operation,
    requestId: entry.requestId,
    commandId: entry.commandId,
    createdBy: entry.keyId === null ? null : { type: "key", id: entry.keyId },
    atMs: entry.atMs,
  };
}
