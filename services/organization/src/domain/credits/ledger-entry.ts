import type { Actor } from "@kapi/contracts";

/** Kinds of ledger entries; see migrations/0002. */
export type LedgerEntryKind = "purchase" | "consume" | "refund" | "reserve" | "settle";

/** One entry of the credit ledger, as something told of it. */
export interface LedgerEntry {
  readonly chargeId: string;
  readonly kind: LedgerEntryKind;
  readonly organizationId: string;
  /** Never negative; the kind tells the direction. */
  readonly credits: number;
  /** How a reservation ended; on `settle` only. */
  readonly action: "consume" | "release" | null;
  readonly operation: string;
  /** Null where the source does not know it. */
  readonly requestId: string | null;
  readonly commandId: string | null;
  /** Who asked for it; null or absent where the source does not know it. */
  readonly createdBy?: Actor | null;
  readonly atMs: number;
}

/** What an entry changes in the sums of a wallet, in credits; available follows from these. */
export interface WalletDelta {
  readonly purchased: number;
  readonly reserved: number;
  readonly consumed: number;
}

/**
 * The change that one entry makes. With it purchased = available + reserved + consumed holds after
 * any set of entries.
 */
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

/** The sums of the changes of several entries, per organization. */
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

/** Name of an entry in the ledger: two entries with the same name are the same entry. */
export function entryName(entry: Pick<LedgerEntry, "chargeId" | "kind">): string {
  return `${entry.chargeId}/${entry.kind}`;
}

/**
 * Each entry once, by name and in the order of the names: two transactions that add the same entries
 * then wait for each other in one order, and never in a circle.
 */
export function distinctInOrder(entries: Iterable<LedgerEntry>): LedgerEntry[] {
  const byName = new Map<string, LedgerEntry>();
  for (const entry of entries) if (!byName.has(entryName(entry))) byName.set(entryName(entry), entry);
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

/** An entry that is in the ledger. */
export interface RecordedEntry {
  readonly entry: LedgerEntry;
  /** The shard's epoch under which it was recorded first. */
  readonly epoch: number;
  /** Whether this call added it. */
  readonly isNew: boolean;
}
