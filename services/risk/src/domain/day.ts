/**
 * Trading days: they start at a local time of a time zone. Daylight saving time may skip or repeat
 * that time (decisions, 15):
 * - a day whose start is skipped starts at the first instant after the gap;
 * - a day whose start is repeated starts at its first occurrence.
 */
import { assert, assertDefined } from "@kapi/kernel";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/**
 * Days to search before and after a local time that is read as UTC. The true instant of the local
 * time is less than one day away, because time zones are at most 14 hours ahead of UTC and 12 hours
 * behind UTC.
 */
const SEARCH_DAYS = 2;

/** A day: from `startMs` inclusive to `endMs` exclusive. */
export interface TradingDay {
  /** Local date of the start: `2026-03-29`. */
  readonly date: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Computes the days of one time zone and start. Keeps the day of the last call. */
export class DayCalendar {
  readonly #startMinutes: number;
  readonly #format: Intl.DateTimeFormat;
  #last: TradingDay | null = null;

  /**
   * @param timeZone IANA name.
   * @param dayStart local time `HH:MM`.
   * @throws RangeError for an unknown time zone.
   */
  constructor(timeZone: string, dayStart: string) {
    const [hours, minutes] = dayStart.split(":").map(Number);
    this.#startMinutes = assertDefined(hours, "hours") * 60 + assertDefined(minutes, "minutes");
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** The day that contains the instant `ms`. */
  dayOf(ms: number): TradingDay {
    if (this.#last !== null && ms >= this.#last.startMs && ms < this.#last.endMs) return this.#last;
    // The search begins with the day after the local date (in days since 1970). That day has
    // already started if the clocks went back over midnight.
    let day = Math.floor(this.#localMs(ms) / DAY_MS) + 1;
    while (this.#startOf(day) > ms) day -= 1;
    const startMs = this.#startOf(day);
    // A date that the time zone skips has no day of its own.
    let next = day + 1;
    while (this.#startOf(next) <= startMs) next += 1;
    this.#last = { date: new Date(day * DAY_MS).toISOString().slice(0, 10), startMs, endMs: this.#startOf(next) };
    return this.#last;
  }

  /** The instant at which the day with this number (days since 1970) starts. */
  #startOf(day: number): number {
    const wanted = day * DAY_MS + this.#startMinutes * MINUTE_MS;
    const before = this.#offsetAt(wanted - SEARCH_DAYS * DAY_MS);
    const after = this.#offsetAt(wanted + SEARCH_DAYS * DAY_MS);
    const candidates = [wanted - before, wanted - after].filter((candidate) => this.#localMs(candidate) === wanted);
    if (candidates.length > 0) return Math.min(...candidates);
    return this.#endOfGap(wanted - SEARCH_DAYS * DAY_MS, wanted + SEARCH_DAYS * DAY_MS, wanted);
  }

  /**
   * The first instant in (from, to] whose local time is at least `wanted`, a local time that the
   * clocks skip.
   */
  #endOfGap(from: number, to: number, wanted: number): number {
    let [low, high] = [from, to];
    assert(this.#localMs(low) < wanted && this.#localMs(high) >= wanted, "the gap is not within the searched days");
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#localMs(middle) >= wanted) high = middle;
      else low = middle;
    }
    return high;
  }

  /** Local time minus UTC, in milliseconds. */
  #offsetAt(ms: number): number {
    return this.#localMs(ms) - ms;
  }

  /** The local time of an instant, as if it were UTC. */
  #localMs(ms: number): number {
    const whole = Math.floor(ms / 1_000) * 1_000;
    const parts = new Map(this.#format.formatToParts(whole).map(({ type, value }) => [type, value]));
    const field = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
    const [year, month, day] = [field("year"), field("month") - 1, field("day")];
    return Date.UTC(year, month, day, field("hour"), field("minute"), field("second")) + (ms - whole);
  }
}

/** Maximum number of calendars in memory; above it, the calendar that was made first is deleted. */
const MAX_CALENDARS = 1_000;

/** The calendars of all rules. Rules of many accounts share one. */
export class DayCalendars {
  readonly #calendars = new Map<string, DayCalendar>();

  /** @throws RangeError for an unknown time zone. */
  of(timeZone: string, dayStart: string): DayCalendar {
    const key = `${timeZone} ${dayStart}`;
    const known = this.#calendars.get(key);
    if (known !== undefined) return known;
    const calendar = new DayCalendar(timeZone, dayStart);
    this.#calendars.set(key, calendar);
    if (this.#calendars.size > MAX_CALENDARS) {
      const [oldest = key] = this.#calendars.keys();
      this.#calendars.delete(oldest);
    }
    return calendar;
  }
}
