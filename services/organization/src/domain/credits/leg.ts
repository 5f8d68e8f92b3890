import type { Actor } from "@kapi/contracts";

/** Kinds of ledger legs; see migrations/0002. */
export type LegKind = "purchase" | "consume" | "refund" | "reserve" | "settle";

/** One leg of the credit ledger, as something told of it. */
export interface Leg {
  readonly chargeId: string;
  readonly kind: LegKind;
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

/** What a leg changes in the sums of a wallet, in credits; available follows from these. */
export interface WalletDelta {
  readonly purchased: number;
  readonly reserved: number;
  readonly consumed: number;
}

/**
 * The change that one leg makes. With it purchased = available + reserved + consumed holds after
 * any set of legs.
 */
export function deltaOf(leg: Pick<Leg, "kind" | "credits" | "action">): WalletDelta {
  const { credits } = leg;
  switch (leg.kind) {
    case "purchase":
      return { purchased: credits, reserved: 0, consumed: 0 };
    case "consume":
      return { purchased: 0, reserved: 0, consumed: credits };
    case "refund":
      return { purchased: 0, reserved: 0, consumed: -credits };
    case "reserve":
      return { purchased: 0, reserved: credits, consumed: 0 };
    case "settle":
      return { purchased: 0, reserved: -credits, consumed: leg.action === "consume" ? credits : 0 };
  }
}

/** The sums of the changes of several legs, per organization. */
export function deltasByOrganization(
  legs: Iterable<Pick<Leg, "kind" | "credits" | "action" | "organizationId">>,
): Map<string, WalletDelta> {
  const sums = new Map<string, WalletDelta>();
  for (const leg of legs) {
    const sum = sums.get(leg.organizationId) ?? { purchased: 0, reserved: 0, consumed: 0 };
    const delta = deltaOf(leg);
    sums.set(leg.organizationId, {
      purchased: sum.purchased + delta.purchased,
      reserved: sum.reserved + delta.reserved,
      consumed: sum.consumed + delta.consumed,
    });
  }
  return sums;
}

/** Name of a leg in the ledger: two legs with the same name are the same leg. */
export function legName(leg: Pick<Leg, "chargeId" | "kind">): string {
  return `${leg.chargeId}/${leg.kind}`;
}

/**
 * Each leg once, by name and in the order of the names: two transactions that add the same legs
 * then wait for each other in one order, and never in a circle.
 */
export function distinctInOrder(legs: Iterable<Leg>): Leg[] {
  const byName = new Map<string, Leg>();
  for (const leg of legs) if (!byName.has(legName(leg))) byName.set(legName(leg), leg);
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, leg]) => leg);
}

/** A leg that is in the ledger. */
export interface RecordedLeg {
  readonly leg: Leg;
  /** The tag's epoch under which it was recorded first. */
  readonly epoch: number;
  /** Whether this call added it. */
  readonly isNew: boolean;
}
