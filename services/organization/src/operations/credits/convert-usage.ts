/**
 * Converts usage entries of Redis into ledger entries. Some usage entries ask for the refund of a
 * charge that Redis does not know: its shard was synced since the charge, or Redis forgot it. The
 * ledger refunds the credits that the charge consumed.
 */
import type { UsageEntry } from "@kapi/admission/redis";

import type { LedgerEntry } from "../../domain/credits/ledger-entry.ts";
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

export function entryFromUsage({ kind, createdBy, chargeId, ...used }: UsageEntry): LedgerEntry {
  const { organizationId, credits, operation, requestId, commandId, atMs } = used;
  const [entryKind, action] = kind === "release" ? (["settle", kind] as const) : ([kind, null] as const);
  const request = { operation, requestId, commandId, createdBy, atMs };
  return { chargeId, kind: entryKind, organizationId, credits, action, ...request };
}
