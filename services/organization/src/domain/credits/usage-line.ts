import type { Actor, CreditUsage } from "@kapi/contracts";

import type { Leg } from "./leg.ts";

/** A line of the usage list: the leg it is made of, with the request that it goes back to. */
export interface UsageLeg {
  readonly kind: "consume" | "refund" | "reserve" | "settle";
  readonly credits: number;
  /** As the request called it; for a release, the request that reserved. */
  readonly operation: string;
  readonly requestId: string | null;
  readonly commandId: string | null;
  /** Who asked for it; null where an earlier release recorded it. */
  readonly createdBy: Actor | null;
  readonly at: string;
}

/**
 * Whether a leg is a line of the usage list (decisions, 7.4): what a request consumed or reserved,
 * and what came back of it. The lines of a wallet sum up to lifetimeConsumed + reservedCredits at
 * every moment: consuming a reservation moves credits from the one to the other, so it has no line
 * of its own. The same condition stands in migrations/0003.
 */
export function isUsageLine({ kind, credits, action }: Pick<Leg, "kind" | "credits" | "action">): boolean {
  return credits > 0 && (kind === "consume" || kind === "refund" || kind === "reserve" || action === "release");
}

/** The line as the API shows it: what came back is negative. */
export function usageLine(leg: UsageLeg): CreditUsage {
  const back = leg.kind === "refund" || leg.kind === "settle";
  return {
    xRequestId: leg.requestId,
    operation: leg.operation,
    credits: back ? -leg.credits : leg.credits,
    commandId: leg.commandId,
    at: leg.at,
    createdBy: leg.createdBy,
  };
}
