/**
 * Gathers events from all sources (answers to changes, the topic, fetched history) into units of
 * booking. An account is in one unit at a time, so this process never waits for its own row locks;
 * an event that comes by two paths at once is booked once and answers both. What comes while units
 * are under way makes the next ones larger.
 */
import { accountKey, type TradingEvent } from "@kapi/contracts";
import { type Deferred, deferred } from "@kapi/kernel";
import { inBatchSpan, type Span, startSpan } from "@kapi/runtime";
import { LRUCache } from "lru-cache";

import type { AccountName, Booking, BookingReport, EventBook } from "./account-feed.ts";

/** Most events in one unit. */
const MAX_UNIT_EVENTS = 500;
/** Units under way at once. */
const MAX_UNITS = 4;
/** Accounts of which the last booked sequence is remembered. */
const MAX_REMEMBERED_ACCOUNTS = 100_000;

export interface BookingQueueOptions<Report extends BookingReport> {
  readonly book: EventBook<Report>;
  /** Whether the same work may succeed a little later, as when the database is away. */
  readonly isTransient: (error: unknown) => boolean;
  readonly onGaps: (accounts: readonly AccountName[]) => void;
  /** Told of every unit that was booked. */
  readonly onReport?: (report: Report) => void;
  /**
   * The events of one account that cannot be booked; the account is parked until somebody mends the
   * cause.
   */
  readonly onUnbookable: (account: AccountName, error: unknown) => void;
}

interface Waiting {
  readonly event: TradingEvent;
  readonly answer: Deferred<Booking>;
  readonly span: Span | null;
}

/** Events of one account by sequence. */
type AccountEvents = Map<number, Waiting>;

export class BookingQueue<Report extends BookingReport = BookingReport> {
  readonly #options: BookingQueueOptions<Report>;
  readonly #waiting = new Map<string, AccountEvents>();
  readonly #underWay = new Map<string, AccountEvents>();
  readonly #booked = new LRUCache<string, number>({ max: MAX_REMEMBERED_ACCOUNTS });
  #units = 0;
  #scheduled = false;

  constructor(options: BookingQueueOptions<Report>) {
    this.#options = options;
  }

  /** Whether an event is known to be booked, without asking the database. */
  isBooked(serverId: string, accountNumber: string, sequence: number): boolean {
    return sequence <= (this.#booked.get(accountKey(serverId, accountNumber)) ?? 0);
  }

  /**
   * Forgets how far an account is booked, so that its next events go to the database whatever this
   * process remembers: for a caller that has just read there that they are missing.
   */
  forget({ serverId, accountNumber }: AccountName): void {
    this.#booked.delete(accountKey(serverId, accountNumber));
  }

  /**
   * Books one event; rejects where the database could not be reached. `traceparent` is the span
   * that asked for it; the booking is a span beneath it.
   */
  book(event: TradingEvent, traceparent?: string): Promise<Booking> {
    const key = accountKey(event.serverId, event.accountNumber);
    if (event.sequence <= (this.#booked.get(key) ?? 0)) return Promise.resolve("repeat");
    const same = this.#underWay.get(key)?.get(event.sequence) ?? this.#waiting.get(key)?.get(event.sequence);
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
      if (this.#underWay.has(key)) continue;
      unit.set(key, events);
      size += events.size;
      this.#waiting.delete(key);
      this.#underWay.set(key, events);
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
        this.#options.book.book(waiting.map(({ event }) => event)),
      );
      this.#finish(waiting, report);
    } catch (error) {
      await this.#fail(unit, waiting, error);
    }
    for (const key of unit.keys()) this.#underWay.delete(key);
    this.#units -= 1;
    this.#schedule();
  }

  #finish(waiting: readonly Waiting[], report: Report): void {
    for (const [index, { event, answer }] of waiting.entries()) {
      const booking = report.bookings[index] ?? "gap";
      if (booking === "booked" || booking === "repeat")
        this.#remember(accountKey(event.serverId, event.accountNumber), event.sequence);
      answer.resolve(booking);
    }
    if (report.gaps.length > 0) this.#options.onGaps(report.gaps);
    this.#options.onReport?.(report);
  }

  /**
   * A unit that fails for a reason of its own is booked account by account, so that one account
   * holds up no other.
   */
  async #fail(unit: ReadonlyMap<string, AccountEvents>, waiting: readonly Waiting[], error: unknown): Promise<void> {
    const reason = error instanceof Error ? error : new Error(String(error));
    if (this.#options.isTransient(error)) {
      for (const { answer } of waiting) answer.reject(reason);
      return;
    }
    if (unit.size === 1) return this.#park(waiting, reason);
    for (const [key, events] of unit) {
      const alone = [...events.values()].sort((a, b) => a.event.sequence - b.event.sequence);
      try {
        this.#finish(alone, await this.#options.book.book(alone.map(({ event }) => event)));
      } catch (cause) {
        await this.#fail(new Map([[key, events]]), alone, cause);
      }
    }
  }

  async #park(waiting: readonly Waiting[], error: Error): Promise<void> {
    const last = waiting.at(-1)?.event;
    if (last === undefined) return;
    const account = { serverId: last.serverId, accountNumber: last.accountNumber };
    this.#options.onUnbookable(account, error);
    try {
      await this.#options.book.noteGap(account, last.sequence);
      for (const { answer } of waiting) answer.resolve("gap");
    } catch {
      // The gap is on no record, so the sources of these events must bring them again.
      for (const { answer } of waiting) answer.reject(error);
    }
  }

  #remember(key: string, sequence: number): void {
    this.#booked.set(key, Math.max(this.#booked.get(key) ?? 0, sequence));
  }
}

function startBooking(event: TradingEvent, parent: string | undefined): Span | null {
  return parent === undefined ? null : startSpan(`book ${event.type}`, { role: "internal", parent });
}
