import type { Actor, CreditUsage } from "@kapi/contracts";

import type { LedgerEntry } from "./ledger-entry.ts";

/** A line of the usage list: the entry it is made of, with the request that it goes back to. */
export interface UsageLine {
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
 * Whether an entry is a line of the usage list (decisions, 7.4): what a request consumed or reserved,
 * and what came back of it. The lines of a wallet sum up to lifetimeConsumed + reservedCredits at
 * every moment: consuming a reservation moves credits from the one to the other, so it has no line
 * of its own. The same condition stands in migrations/0003.
 */
export function isUsageLine({ kind, credits, action }: Pick<LedgerEntry, "kind" | "credits" | "action">): boolean {
  return credits > 0 && (kind === "consume" || kind === "refund" || kind === "reserve" || action === "release");
}

/** The line as the API shows it: what came back is negative. */
export function usageLine(entry: UsageLine): CreditUsage {
  const back = entry.kind === "refund" || entry.kind === "settle";
  return {
    xRequestId: entry.requestId,
    operation: entry.operation,
    credits: back ? -entry.credits : entry.credits,
    commandId: entry.commandId,
    at: entry.at,
    createdBy: entry.createdBy,
  };
}
