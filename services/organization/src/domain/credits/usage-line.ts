import type { Actor, CreditUsage } from "@kapi/contracts";

import type { LedgerEntry } from "./ledger-entry.ts";

/** A line of the usage list: an entry with its request. */
export interface UsageLine {
  readonly kind: "consume" | "refund" | "reserve" | "settle";
  readonly credits: number;
  /**
   * Operation of the request. For released credits: operation of their reservation, or of the
   * settlement if the reservation is not found.
   */
  readonly operation: string;
  readonly requestId: string | null;
  readonly commandId: string | null;
  /**
   * Who made the request; null if this was not recorded, for example by an earlier version of kapi
   * or by a sync.
   */
  readonly createdBy: Actor | null;
  readonly at: string;
}

/**
 * Whether an entry is a line of the usage list (decisions, 7.4). Lines sum up to lifetimeConsumed +
 * reservedCredits. Consuming a reservation only moves credits between the two, so it is no line.
 * The same condition is in `usage-lines.ts` and in the indexes of migrations/0003 and 0015: a
 * change of it needs new indexes.
 */
export function isUsageLine({ kind, credits, action }: Pick<LedgerEntry, "kind" | "credits" | "action">): boolean {
  return credits > 0 && (kind === "consume" || kind === "refund" || kind === "reserve" || action === "release");
}

/** The line as the API shows it: returned credits are negative. */
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
