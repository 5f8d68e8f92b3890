import type { Actor } from "@kapi/contracts";

/** Column `leg` of the ledger; see migrations/0002. */
export type LedgerEntryKind = "purchase" | "consume" | "refund" | "reserve" | "settle";

/** One movement of credits. Tables and functions of Redis call it `leg`. */
export interface LedgerEntry {
  readonly chargeId: string;
  readonly kind: LedgerEntryKind;
  readonly organizationId: string;
  /** Never negative: the kind gives the direction. */
  readonly credits: number;
  /** How a reservation ended; for `settle` only. */
  readonly action: "consume" | "release" | null;
  readonly operation: string;
  /** Null: the source does not know it. */
  readonly requestId: string | null;
  readonly commandId: string | null;
  /** Who made the request; null or absent: unknown. */
  readonly createdBy?: Actor | null;
  readonly atMs: number;
}

/** Change of a wallet's sums, in credits. Available credits follow from these. */
export interface WalletDelta {
  readonly purchased: number;
  readonly reserved: number;
  readonly consumed: number;
}

/** Invariant of any set of entries: purchased = available + reserved + consumed. */
export function deltaOf(entry: Pick<LedgerEntry, "kind" | "credits" | "action">): WalletDelta {
  const { credits } = entry;
  switch (entry.kind) {
    case "purchase":
      return { purchased: credits, reserved: 0, consumed: 0 };
    case "consume":
      return { purchased: 0, reserved: 0, consumed: credits };
    case "refund":
      return { purchased: 0, reserved: 0, consumed: -credits };
    case "reserve":
      return { purchased: 0, reserved: credits, consumed: 0 };
    case "settle":
      return { purchased: 0, reserved: -credits, consumed: entry.action === "consume" ? credits : 0 };
  }
}

/** The change of each organization's wallet. */
export function deltasByOrganization(
  entries: Iterable<Pick<LedgerEntry, "kind" | "credits" | "action" | "organizationId">>,
): Map<string, WalletDelta> {
  const sums = new Map<string, WalletDelta>();
  for (const entry of entries) {
    const sum = sums.get(entry.organizationId) ?? { purchased: 0, reserved: 0, consumed: 0 };
    const delta = deltaOf(entry);
    sums.set(entry.organizationId, {
      purchased: sum.purchased + delta.purchased,
      reserved: sum.reserved + delta.reserved,
      consumed: sum.consumed + delta.consumed,
    });
  }
  return sums;
}

/** Identifies an entry in the ledger. */
export function entryName(entry: Pick<LedgerEntry, "chargeId" | "kind">): string {
  return `${entry.chargeId}/${entry.kind}`;
}

/** Each entry once, ordered by name: one lock order for all transactions prevents deadlocks. */
export function distinctInOrder(entries: Iterable<LedgerEntry>): LedgerEntry[] {
  const byName = new Map<string, LedgerEntry>();
  for (const entry of entries) if (!byName.has(entryName(entry))) byName.set(entryName(entry), entry);
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

export interface RecordedEntry {
  readonly entry: LedgerEntry;
  /** The shard's epoch when it was first recorded. */
  readonly epoch: number;
  /** Whether this call added it. */
  readonly isNew: boolean;
}
