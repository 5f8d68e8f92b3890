/**
 * Converts entries of the usage streams into credit ledger entries. Some usage entries ask the
 * ledger to decide a refund, because the shard was synced since the charge, or Redis does not know
 * the charge. The ledger refunds the credits that the charge consumed.
 */
import type { UsageEntry } from "@kapi/admission/redis";

import type { LedgerEntry } from "../../domain/credits/ledger-entry.ts";
import type { CreditTransaction } from "../../domain/credits/ports.ts";

/** The ledger entries of usage, among them the refunds that the ledger decided. */
export interface ConvertedUsage {
  readonly entries: readonly LedgerEntry[];
  /** Charge ids of the refunds that the ledger decided. */
  readonly refundedByLedger: ReadonlySet<string>;
}

/**
 * Converts usage entries. A requested refund becomes a ledger entry only if its charge consumed
 * credits, and refunds exactly these credits.
 */
export async function convertUsage(tx: CreditTransaction, usage: readonly UsageEntry[]): Promise<ConvertedUsage> {
  const entries = usage.filter(({ asksLedger }) => asksLedger !== true).map(entryFromUsage);
  const refundRequests = usage.filter(({ asksLedger }) => asksLedger === true);
  if (refundRequests.length === 0) return { entries, refundedByLedger: new Set() };
  const consumed = new Map(await tx.readConsumed(refundRequests.map(({ chargeId }) => chargeId)));
  for (const { kind, chargeId, credits } of entries) if (kind === "consume") consumed.set(chargeId, credits);
  const refunds = refundRequests.flatMap((used) => {
    const credits = consumed.get(used.chargeId);
    return credits === undefined ? [] : [{ ...entryFromUsage(used), credits }];
  });
  return { entries: entries.concat(refunds), refundedByLedger: new Set(refunds.map(({ chargeId }) => chargeId)) };
}

/** The ledger entry of a usage entry. A `release` becomes a `settle` with the action `release`. */
export function entryFromUsage({ kind, createdBy, chargeId, ...used }: UsageEntry): LedgerEntry {
  const { organizationId, credits, operation, requestId, commandId, atMs } = used;
  const [entryKind, action] = kind === "release" ? (["settle", kind] as const) : ([kind, null] as const);
  const request = { operation, requestId, commandId, createdBy, atMs };
  return { chargeId, kind: entryKind, organizationId, credits, action, ...request };
}
