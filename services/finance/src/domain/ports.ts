import type { TradingEvent } from "@kapi/contracts";

import type { AccountName, Booking, Discrepancy } from "./ledger.ts";

/** What one unit of booking did. */
export interface BookingReport {
  /** One for each event given, in order. */
  readonly bookings: readonly Booking[];
  readonly discrepancies: readonly Discrepancy[];
  /** Accounts whose events wait for earlier ones. */
  readonly gaps: readonly AccountName[];
}

/** The ledger in this service's schema. */
export interface Ledger {
  /**
   * Books events of many accounts in one transaction, ends the commands they carry, and notes gaps. The events of one
   * account stand in the order of their sequence.
   */
  book(events: readonly TradingEvent[]): Promise<BookingReport>;
  /** Notes that the account cannot be booked up to `neededSequence` now. */
  noteGap(account: AccountName, neededSequence: number): Promise<void>;
  /** Ends those of `commandIds` that are open although their events are booked; returns those that are final now. */
  confirm(commandIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** For each account whether the ledger has ever seen it, or it was deleted before that. */
  known(accounts: readonly AccountName[]): Promise<boolean[]>;
}

/** Gaps that wait to be filled. */
export interface GapBook {
  /** Gaps whose next try is due, longest waiting first. */
  due(limit: number): Promise<Gap[]>;
  /** The gap of an account and how far it is booked; null where it has none (any more). */
  find(account: AccountName): Promise<Gap | null>;
  /** Ends the gap, unless it has grown beyond what is booked. */
  close(account: AccountName): Promise<void>;
  /** Another try not before `delayMs` from now. */
  postpone(account: AccountName, delayMs: number): Promise<void>;
}

export interface Gap extends AccountName {
  readonly neededSequence: number;
  readonly bookedSequence: number;
  readonly attempts: number;
}

/** Where missing events come from. Rejects where the trading server gives no clear answer. */
export interface EventHistory {
  since(account: AccountName, sequence: number, limit: number): Promise<readonly TradingEvent[]>;
}
