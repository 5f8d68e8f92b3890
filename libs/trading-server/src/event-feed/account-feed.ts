/** Types of the event feed, and the ports that a service implements. */
import type { TradingEvent, AccountRef } from "@kapi/contracts";

/**
 * Result of one event. `gap`: an earlier event is missing, or the events of the account cannot be
 * booked now. `dropped`: the account accepts no events.
 */
export type Booking = "booked" | "duplicate" | "gap" | "dropped";

/** Result of one unit. */
export interface BookingReport {
  /** One per event, in order. */
  readonly bookings: readonly Booking[];
  /** Accounts with a gap. */
  readonly gaps: readonly AccountRef[];
}

/** Repository of booked events, in the schema of the service. */
export interface EventRepository<Report extends BookingReport = BookingReport> {
  /**
   * Books events of many accounts in one transaction and records gaps. Events of one account are in
   * order of sequence. Rejects if the transaction fails.
   */
  book(events: readonly TradingEvent[]): Promise<Report>;
  /** Records that the account cannot be booked up to `neededSequence` now. */
  noteGap(account: AccountRef, neededSequence: number): Promise<void>;
}

/** Repository of gaps. */
export interface GapRepository {
  /** Due gaps; the gap that became due first comes first. */
  due(limit: number): Promise<Gap[]>;
  /** Number of gaps, counted up to `atMost`. Gaps of unknown accounts may be left out. */
  count(atMost: number): Promise<number>;
  /** The gap of an account and its last booked sequence; null: no gap. */
  find(account: AccountRef): Promise<Gap | null>;
  /** Deletes the gap if its `neededSequence` is booked. */
  close(account: AccountRef): Promise<void>;
  /** The next attempt is at least `delayMs` from now. */
  postpone(account: AccountRef, delayMs: number): Promise<void>;
}

/**
 * An account with missing events after `bookedSequence`. The gap is filled when `neededSequence` is
 * booked.
 */
export interface Gap extends AccountRef {
  readonly neededSequence: number;
  readonly bookedSequence: number;
  /** Number of attempts that did not fill the gap: after each, the gap was postponed. */
  readonly attempts: number;
}

/** Source of missing events. Rejects if the trading server gives no clear answer. */
export interface EventHistory {
  /** At most `limit` events after `sequence`, in order. */
  since(account: AccountRef, sequence: number, limit: number): Promise<readonly TradingEvent[]>;
}

/** The events to book now (`run`), and the result of each given event. */
export interface ClassifiedEvents {
  readonly run: readonly TradingEvent[];
  readonly bookings: readonly Booking[];
}

/**
 * Classifies events of an account that is booked up to `bookedSequence`. Events are in order of
 * sequence.
 */
export function classifyEvents(bookedSequence: number, events: readonly TradingEvent[]): ClassifiedEvents {
  const run: TradingEvent[] = [];
  const bookings = events.map((event): Booking => {
    const next = bookedSequence + run.length + 1;
    if (event.sequence !== next) return event.sequence < next ? "duplicate" : "gap";
    run.push(event);
    return "booked";
  });
  return { run, bookings };
}
