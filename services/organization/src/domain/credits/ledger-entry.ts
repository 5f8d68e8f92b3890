import type { Actor } from "@kapi/contracts";

/** In tables the column of the kind has an older name: see the glossary. */
export type LedgerEntryKind = "purchase" | "consume" | "refund" | "reserve" | "settle";

/** A credit ledger entry: one movement of credits. */
export interface LedgerEntry {
  readonly chargeId: string;
  readonly kind: LedgerEntryKind;
  readonly organizationId: string;
  /** Never negative: the kind gives the direction. */
  readonly credits: number;
  /** How a reservation ended; for `settle` only. */
  readonly action: "consume" | "release" | null;
  readonly operation: string;
  /** Null: unknown, for example if a final event or a sync reported the entry. */
  readonly requestId: string | null;
  readonly commandId: string | null;
  /** Who made the request; null or absent: unknown. */
  readonly createdBy?: Actor | null;
  readonly atMs: number;
}

/** A wallet's sums, or a change of them, in credits. Available credits follow from these. */
export interface WalletDelta {
  readonly purchased: number;
  readonly reserved: number;
  readonly consumed: number;
}

const NOTHING: WalletDelta = { purchased: 0, reserved: 0, consumed: 0 };

/** The change of a wallet by one entry. */
export function deltaOf({ kind, credits, action }: Pick<LedgerEntry, "kind" | "credits" | "action">): WalletDelta {
  switch (kind) {
    case "purchase":
      return { ...NOTHING, purchased: credits };
    case "consume":
      return { ...NOTHING, consumed: credits };
    case "refund":
      return { ...NOTHING, consumed: -credits };
    case "reserve":
      return { ...NOTHING, reserved: credits };
    case "settle":
      return { ...NOTHING, reserved: -credits, consumed: action === "consume" ? credits : 0 };
  }
}

/** The sum of two changes. */
export function plus(one: WalletDelta, other: WalletDelta = NOTHING): WalletDelta {
  return {
    purchased: one.purchased + other.purchased,
    reserved: one.reserved + other.reserved,
    consumed: one.consumed + other.consumed,
  };
}

/** The change of each organization's wallet. */
export function deltasByOrganization(
  entries: Iterable<Pick<LedgerEntry, "kind" | "credits" | "action" | "organizationId">>,
): Map<string, WalletDelta> {
  const sums = new Map<string, WalletDelta>();
  for (const entry of entries) sums.set(entry.organizationId, plus(deltaOf(entry), sums.get(entry.organizationId)));
  return sums;
}

/** Identifies an entry in the ledger. */
export function entryName(entry: Pick<LedgerEntry, "chargeId" | "kind">): string {
  return `${entry.chargeId}/${entry.kind}`;
}

/**
 * The first of the entries with each name, ordered by name: one lock order for all transactions
 * prevents deadlocks.
 */
export function distinctInOrder(entries: Iterable<LedgerEntry>): LedgerEntry[] {
  const byName = new Map<string, LedgerEntry>();
  for (const entry of entries) if (!byName.has(entryName(entry))) byName.set(entryName(entry), entry);
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

/** An entry that was given to `recordEntries`, as the ledger has it now. */
export interface RecordedEntry {
  readonly entry: LedgerEntry;
  /** The shard's epoch when the entry was first recorded. */
  readonly epoch: number;
  /** Whether this call added it. */
  readonly isNew: boolean;
}
