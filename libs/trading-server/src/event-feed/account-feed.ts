/**
 * The words of the event feed: accounts, what became of an event, and the ports that a service
 * gives.
 */
import type { TradingEvent } from "@kapi/contracts";

/** What tells an account from all others. */
export interface AccountName {
  readonly serverId: string;
  readonly accountNumber: string;
}

/**
 * What became of one event: `gap` where one before it is not booked yet; `dropped` where the
 * account takes no events (any more), which may change, so it is not remembered.
 */
export type Booking = "booked" | "repeat" | "gap" | "dropped";

/** What one unit of booking did. */
export interface BookingReport {
  /** One for each event given, in order. */
  readonly bookings: readonly Booking[];
  /** Accounts whose events wait for earlier ones. */
  readonly gaps: readonly AccountName[];
}

/** Where events are booked: a service's own schema. */
export interface EventBook<Report extends BookingReport = BookingReport> {
  /**
   * Books events of many accounts in one transaction and notes gaps. The events of one account
   * stand in the order of their sequence. Rejects where nothing was booked.
   */
  book(events: readonly TradingEvent[]): Promise<Report>;
  /** Notes that the account cannot be booked up to `neededSequence` now. */
  noteGap(account: AccountName, neededSequence: number): Promise<void>;
}

/** Gaps that wait to be filled. */
export interface GapBook {
  /** Gaps whose next try is due, longest waiting first. */
  due(limit: number): Promise<Gap[]>;
  /** Gaps of accounts that are there, counted up to `atMost`. */
  count(atMost: number): Promise<number>;
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
  /** At most `limit` events above `sequence`, in order. */
  since(account: AccountName, sequence: number, limit: number): Promise<readonly TradingEvent[]>;
}

/**
 * Events of one account, judged: the run that is to be booked now, and what becomes of each that
 * was given.
 */
export interface JudgedEvents {
  readonly run: readonly TradingEvent[];
  readonly bookings: readonly Booking[];
}

/**
 * Judges events of an account that is booked up to `bookedSequence`, given in the order of their
 * sequence.
 */
export function judgeEvents(bookedSequence: number, events: readonly TradingEvent[]): JudgedEvents {
  const run: TradingEvent[] = [];
  const bookings = events.map((event): Booking => {
    const next = bookedSequence + run.length + 1;
    if (event.sequence !== next) return event.sequence < next ? "repeat" : "gap";
    run.push(event);
    return "booked";
  });
  return { run, bookings };
}
