import type { AccountRef } from "@kapi/contracts";
import type { BookingReport, EventRepository } from "@kapi/trading-server/event-feed";

import type { Discrepancy } from "./ledger.ts";

/** The result of booking one unit. */
export interface LedgerReport extends BookingReport {
  readonly discrepancies: readonly Discrepancy[];
}

/** The ledger. Booking an event completes its command. */
export interface Ledger extends EventRepository<LedgerReport> {
  /**
   * Completes the open commands among `commandIds` whose events are booked. Returns those of
   * `commandIds` whose commands are final now, including commands that were final before.
   */
  confirm(commandIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether each account is known: the ledger has seen it, or it was deleted. */
  known(accounts: readonly AccountRef[]): Promise<boolean[]>;
}
