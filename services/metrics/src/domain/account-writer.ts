import { assert, assertDefined } from "@kapi/kernel";

import { IntervalLows } from "./interval.ts";
import { type LogState, sameSpan, type Span } from "./judge.ts";
import { type MeasuredValues, type Reading, sameValues, type Values } from "./reading.ts";
import {
  MAX_CLOCK_DIFFERENCE_MS,
  MAX_REPEAT_AGE_MS,
  MEASURED_AHEAD,
  MEASURED_BEFORE,
  type Rejection,
  REPEATED,
} from "./rejection.ts";
import type { Minimum, Sample } from "./sample.ts";

/**
 * What became of a valuation. `covered`: a sample in the log has it already. `unchanged`: says what
 * the last sample said. `waits`: part of the next sample. `due`: a sample is to be cut now.
 */
export type Taken = "covered" | "unchanged" | "waits" | "due" | Rejection;

interface WrittenSample {
  readonly span: Span;
  /** Offset of the first valuation that it takes in and that a successor would need. */
  readonly first: number;
}

/**
 * The writer's side of one account: coalesces its valuations, gives sequences ahead of the log, and
 * goes back to the log's word when that is another.
 *
 * Invariants: the written samples that the log has not shown yet follow `log` and each other
 * without a gap; `head` is the end of that chain; every valuation behind `log.to` that changed
 * something is still in `#lows`, so none is lost when the chain is dropped. A valuation that
 * repeats the newest sample is not kept: that sample's equity held when the next interval began, so
 * it is part of that interval's minimum in any case.
 */
export class AccountWriter {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly key: string;
  #log: LogState;
  #head: LogState;
  readonly #written: WrittenSample[] = [];
  readonly #lows = new IntervalLows();
  #latest: Reading | null = null;
  #latestMeasuredAtMs: number;
  /** Offset of the first valuation of the next sample; null when nothing waits. */
  #waitsFrom: number | null = null;
  /** What the newest written or judged sample says; null when that is not known. */
  #published: MeasuredValues | null;
  #publishedAtMs = Number.NEGATIVE_INFINITY;
  #urgent = false;

  constructor(
    account: { readonly key: string; readonly serverId: string; readonly accountNumber: string },
    log: LogState,
    newest: MeasuredValues | null,
  ) {
    this.key = account.key;
    this.serverId = account.serverId;
    this.accountNumber = account.accountNumber;
    this.#log = log;
    this.#head = log;
    this.#published = newest;
    this.#latestMeasuredAtMs = newest?.measuredAtMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Whether valuations wait for the next sample. */
  get waits(): boolean {
    return this.#waitsFrom !== null;
  }

  /** When the newest sample was cut. */
  get publishedAtMs(): number {
    return this.#publishedAtMs;
  }

  /** Offset of the first valuation that no judged sample has yet; null when all are durable. */
  get firstOpenOffset(): number | null {
    return this.#written[0]?.first ?? this.#waitsFrom;
  }

  /**
   * Takes in a valuation; `coalesceMs` is the least time between two samples that only prices have
   * moved.
   */
  take(reading: Reading, nowMs: number, coalesceMs: number): Taken {
    if (reading.offset <= this.#head.to || reading.offset <= (this.#latest?.offset ?? -1)) return "covered";
    const rejection = this.#rejectionOf(reading.measuredAtMs, nowMs);
    if (rejection !== null) return rejection;
    this.#latestMeasuredAtMs = reading.measuredAtMs;
    if (!this.waits && this.#published !== null && sameValues(this.#published, reading)) return "unchanged";
    const before: Values | null = this.waits ? this.#latest : this.#published;
    this.#urgent ||=
      before === null ||
      before.balanceMinor !== reading.balanceMinor ||
      before.openPositionCount !== reading.openPositionCount;
    this.#latest = reading;
    this.#waitsFrom ??= reading.offset;
    this.#lows.add(reading.offset, reading.equityMinor, reading.measuredAt);
    return this.isDue(nowMs, coalesceMs) ? "due" : "waits";
  }

  /** Whether a sample is due at `nowMs`. Also true if the clock was set back by an interval. */
  isDue(nowMs: number, coalesceMs: number): boolean {
    return this.waits && (this.#urgent || Math.abs(nowMs - this.#publishedAtMs) >= coalesceMs);
  }

  /** Makes the next sample of everything that waits; something must. */
  cut(nowMs: number): Sample {
    assert(this.#waitsFrom !== null, "a sample is cut only of valuations that wait");
    const latest = assertDefined(this.#latest, "the latest valuation");
    const minimum = this.#minimum();
    const span = { sequence: this.#head.sequence + 1, from: this.#head.to, to: latest.offset };
    this.#written.push({ span, first: this.#waitsFrom });
    this.#head = span;
    this.#published = latest;
    this.#publishedAtMs = nowMs;
    this.#waitsFrom = null;
    this.#urgent = false;
    return { span, values: latest, measuredAt: latest.measuredAt, minimum };
  }

  /**
   * The log has shown the account's next sample. Ours: it is durable now. Another's: the log's word
   * counts; what ours had taken in beyond it waits for the next sample. `valuesOf` reads what that
   * other sample says.
   */
  judged(span: Span, valuesOf: () => MeasuredValues | null): "ours" | "another's" {
    const ours = this.#written[0];
    this.#log = span;
    this.#lows.forgetUpTo(span.to);
    if (ours !== undefined && sameSpan(ours.span, span)) {
      this.#written.shift();
      return "ours";
    }
    this.#goBack(valuesOf());
    return "another's";
  }

  /**
   * Gives up the written samples that the log will not show any more; their valuations wait for the
   * next one.
   */
  abandon(valuesOf: () => MeasuredValues | null): void {
    if (this.#written.length > 0) this.#goBack(valuesOf());
  }

  #rejectionOf(measuredAtMs: number, nowMs: number): Rejection | null {
    const latestAllowedMs = nowMs + MAX_CLOCK_DIFFERENCE_MS;
    if (measuredAtMs > latestAllowedMs) return MEASURED_AHEAD;
    // A sample of an earlier version, or of before a clock was set back, must not hold the account
    // up.
    if (this.#latestMeasuredAtMs > latestAllowedMs || measuredAtMs >= this.#latestMeasuredAtMs) return null;
    return this.#latestMeasuredAtMs - measuredAtMs <= MAX_REPEAT_AGE_MS ? REPEATED : MEASURED_BEFORE;
  }

  /**
   * The lowest equity since the newest sample, whose own equity held at first. Of equal ones the
   * earliest counts.
   */
  #minimum(): Minimum {
    const low = assertDefined(this.#lows.lowestAfter(this.#head.to), "the lowest equity of the interval");
    const held = this.#published;
    if (held === null || held.equityMinor > low.equityMinor) return low;
    return { equityMinor: held.equityMinor, measuredAt: held.measuredAt };
  }

  #goBack(published: MeasuredValues | null): void {
    const open = this.firstOpenOffset;
    this.#written.length = 0;
    this.#head = this.#log;
    this.#published = published;
    const latest = this.#latest;
    const rest = open !== null && latest !== null && latest.offset > this.#log.to;
    this.#waitsFrom = rest ? Math.max(open, this.#log.to + 1) : null;
    this.#urgent = rest;
    if (published !== null) this.#latestMeasuredAtMs = Math.max(this.#latestMeasuredAtMs, published.measuredAtMs);
  }
}
