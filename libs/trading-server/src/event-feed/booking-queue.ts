/**
 * Collects events from all sources (answers to changes, the topic, fetched history) into units. An
 * account is in one unit at a time, so this process never waits for its own row locks. An event
 * from two sources is booked once, and both callers get the result. Events that arrive while units
 * run make the next units larger.
 */
import { accountKey, type TradingEvent, type AccountRef } from "@kapi/contracts";
import { type Deferred, deferred } from "@kapi/kernel";
import { inBatchSpan, type Span, startSpan } from "@kapi/runtime";
import { LRUCache } from "lru-cache";

import type { Booking, BookingReport, EventRepository } from "./account-feed.ts";

/** Maximum number of events per unit. If one account has more events, they are one unit. */
const MAX_UNIT_EVENTS = 500;
/** Maximum number of concurrent units. */
const MAX_UNITS = 4;
/** Number of accounts whose last booked sequence is cached. */
const MAX_CACHED_ACCOUNTS = 100_000;

/** Where units are booked, and who learns of gaps and of accounts that cannot be booked. */
interface BookingQueueOptions<Report extends BookingReport> {
  readonly repository: EventRepository<Report>;
  /** Whether a retry may succeed, for example when the database is unavailable. */
  readonly isTransient: (error: unknown) => boolean;
  readonly onGaps: (accounts: readonly AccountRef[]) => void;
  /** Called after every booked unit. */
  readonly onReport?: (report: Report) => void;
  /** Called for an account whose events cannot be booked, before its gap is recorded. */
  readonly onUnbookable: (account: AccountRef, error: unknown) => void;
}

interface Waiting {
  readonly event: TradingEvent;
  readonly answer: Deferred<Booking>;
  readonly span: Span | null;
}

type AccountEvents = Map<number, Waiting>;

/** Books events in units. */
export class BookingQueue<Report extends BookingReport = BookingReport> {
  readonly #options: BookingQueueOptions<Report>;
  readonly #waiting = new Map<string, AccountEvents>();
  readonly #running = new Map<string, AccountEvents>();
  readonly #booked = new LRUCache<string, number>({ max: MAX_CACHED_ACCOUNTS });
  #units = 0;
  #scheduled = false;

  constructor(options: BookingQueueOptions<Report>) {
    this.#options = options;
  }

  /** Whether the cache knows that an event is booked. */
  isBooked(serverId: string, accountNumber: string, sequence: number): boolean {
    return sequence <= (this.#booked.get(accountKey(serverId, accountNumber)) ?? 0);
  }

  /**
   * Clears the cache of an account, so that its next events go to the database. Called when events
   * of the account are missing in the database.
   */
  forget({ serverId, accountNumber }: AccountRef): void {
    this.#booked.delete(accountKey(serverId, accountNumber));
  }

  /**
   * Books one event. Rejects if the database is unavailable, or if neither the event nor the gap of
   * its account can be stored. `traceparent`: parent span of the booking.
   */
  book(event: TradingEvent, traceparent?: string): Promise<Booking> {
    const key = accountKey(event.serverId, event.accountNumber);
    if (event.sequence <= (this.#booked.get(key) ?? 0)) return Promise.resolve("duplicate");
    const same = this.#running.get(key)?.get(event.sequence) ?? this.#waiting.get(key)?.get(event.sequence);
    if (same !== undefined) return same.answer.promise;
    const waiting: Waiting = { event, answer: deferred<Booking>(), span: startBooking(event, traceparent) };
    const { span } = waiting;
    if (span !== null) {
      void waiting.answer.promise.then(
        () => span.end(),
        (error: unknown) => span.end(error),
      );
    }
    const events = this.#waiting.get(key);
    if (events === undefined) this.#waiting.set(key, new Map([[event.sequence, waiting]]));
    else events.set(event.sequence, waiting);
    this.#schedule();
    return waiting.answer.promise;
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0 || this.#units >= MAX_UNITS) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      for (let unit = this.#nextUnit(); unit.size > 0; unit = this.#nextUnit()) {
        this.#units += 1;
        void this.#run(unit);
      }
    });
  }

  #nextUnit(): Map<string, AccountEvents> {
    const unit = new Map<string, AccountEvents>();
    if (this.#units >= MAX_UNITS) return unit;
    let size = 0;
    for (const [key, events] of this.#waiting) {
      if (size > 0 && size + events.size > MAX_UNIT_EVENTS) break;
      if (this.#running.has(key)) continue;
      unit.set(key, events);
      size += events.size;
      this.#waiting.delete(key);
      this.#running.set(key, events);
    }
    return unit;
  }

  async #run(unit: ReadonlyMap<string, AccountEvents>): Promise<void> {
    const waiting = [...unit.values()].flatMap((events) =>
      [...events.values()].sort((a, b) => a.event.sequence - b.event.sequence),
    );
    try {
      const members = waiting.map(({ span }) => span?.traceparent);
      const report = await inBatchSpan("book events", members, () =>
        this.#options.repository.book(waiting.map(({ event }) => event)),
      );
      this.#finish(waiting, report);
    } catch (error) {
      await this.#fail(unit, waiting, error);
    }
    for (const key of unit.keys()) this.#running.delete(key);
    this.#units -= 1;
    this.#schedule();
  }

  #finish(waiting: readonly Waiting[], report: Report): void {
    for (const [index, { event, answer }] of waiting.entries()) {
      const booking = report.bookings[index] ?? "gap";
      if (booking === "booked" || booking === "duplicate")
        this.#cache(accountKey(event.serverId, event.accountNumber), event.sequence);
      answer.resolve(booking);
    }
    if (report.gaps.length > 0) this.#options.onGaps(report.gaps);
    this.#options.onReport?.(report);
  }

  /**
   * Handles a failed unit. After a transient error, rejects the callers of its events. Otherwise
   * books the unit account by account, and records a gap for each account that cannot be booked.
   */
  async #fail(unit: ReadonlyMap<string, AccountEvents>, waiting: readonly Waiting[], error: unknown): Promise<void> {
    const reason = error instanceof Error ? error : new Error(String(error));
    if (this.#options.isTransient(error)) {
      for (const { answer } of waiting) answer.reject(reason);
      return;
    }
    if (unit.size === 1) return this.#recordGap(waiting, reason);
    for (const [key, events] of unit) {
      const alone = [...events.values()].sort((a, b) => a.event.sequence - b.event.sequence);
      try {
        this.#finish(alone, await this.#options.repository.book(alone.map(({ event }) => event)));
      } catch (cause) {
        await this.#fail(new Map([[key, events]]), alone, cause);
      }
    }
  }

  async #recordGap(waiting: readonly Waiting[], error: Error): Promise<void> {
    const last = waiting.at(-1)?.event;
    if (last === undefined) return;
    const account = { serverId: last.serverId, accountNumber: last.accountNumber };
    this.#options.onUnbookable(account, error);
    try {
      await this.#options.repository.noteGap(account, last.sequence);
      for (const { answer } of waiting) answer.resolve("gap");
    } catch {
      // The gap could not be recorded: the sources must send these events again.
      for (const { answer } of waiting) answer.reject(error);
    }
  }

  #cache(key: string, sequence: number): void {
    this.#booked.set(key, Math.max(this.#booked.get(key) ?? 0, sequence));
  }
}

function startBooking(event: TradingEvent, parent: string | undefined): Span | null {
  return parent === undefined ? null : startSpan(`book ${event.type}`, { role: "internal", parent });
}
