import type { BookingReport, EventBook } from "@kapi/trading-server/event-feed";

import type { AccountName, Discrepancy } from "./ledger.ts";

/** What one unit of booking did. */
export interface LedgerReport extends BookingReport {
  readonly discrepancies: readonly Discrepancy[];
}

/** The ledger in this service's schema. Booking an event ends the command that it carries. */
export interface Ledger extends EventBook<LedgerReport> {
  /**
   * Ends those of `commandIds` that are open although their events are booked; returns those that
   * are final now.
   */
  confirm(commandIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** For each account whether the ledger has ever seen it, or it was deleted before that. */
  known(accounts: readonly AccountName[]): Promise<boolean[]>;
}
