/**
 * Converts usage entries of Redis into ledger entries. Some ask for the refund of a charge that
 * Redis does not know: its shard was synced since the charge, or Redis forgot it. The ledger
 * refunds what it finds consumed.
 */
import type { UsageEntry } from "@kapi/admission/redis";

import type { LedgerEntry, RecordedEntry } from "../../domain/credits/ledger-entry.ts";
import type { CreditTransaction } from "../../domain/credits/ports.ts";

/** `asked`: charge ids of refunds that the ledger decided. */
export interface ConvertedUsage {
  readonly entries: readonly LedgerEntry[];
  readonly asked: ReadonlySet<string>;
}

/** A charge that was never consumed is not refunded. */
export async function convertUsage(tx: CreditTransaction, usage: readonly UsageEntry[]): Promise<ConvertedUsage> {
  const entries = usage.filter(({ asksLedger }) => asksLedger !== true).map(entryFromUsage);
  const questions = usage.filter(({ asksLedger }) => asksLedger === true);
  if (questions.length === 0) return { entries, asked: new Set() };
  const consumed = new Map(await tx.readConsumed(questions.map(({ chargeId }) => chargeId)));
  for (const { kind, chargeId, credits } of entries) if (kind === "consume") consumed.set(chargeId, credits);
  const refunds = questions.flatMap((used) => {
    const credits = consumed.get(used.chargeId);
    return credits === undefined ? [] : [{ ...entryFromUsage(used), credits }];
  });
  return { entries: entries.concat(refunds), asked: new Set(refunds.map(({ chargeId }) => chargeId)) };
}

/** New refunds have their shard synced again: no wallet in Redis has them. */
export async function keepAskedRefunds(
  tx: CreditTransaction,
  { asked }: ConvertedUsage,
  recorded: readonly RecordedEntry[],
): Promise<void> {
  const refunds = recorded.filter(({ entry, isNew }) => isNew && entry.kind === "refund" && asked.has(entry.chargeId));
  await tx.insertPending(
    refunds.map(({ entry: { chargeId, organizationId, credits }, epoch }) => ({
      chargeId,
      organizationId,
      kind: "release" as const,
      credits,
      epoch,
      isOld: true,
    })),
  );
}

export function entryFromUsage(used: UsageEntry): LedgerEntry {
  return {
    chargeId: used.chargeId,
    kind: used.kind === "release" ? "settle" : used.kind,
    organizationId: used.organizationId,
    credits: used.credits,
    action: used.kind === "release" ? "release" : null,
    operation: used.operation,
    requestId: used.requestId,
    commandId: used.commandId,
    createdBy: used.keyId === null ? null : { type: "key", id: used.keyId },
    atMs: used.atMs,
  };
}
