import type { SampleRange } from "@kapi/contracts/codec";
import { assert, assertDefined } from "@kapi/kernel";

import { IntervalLows } from "./interval.ts";
import { type LogState, sameRange } from "./acceptance-rule.ts";
import { type MeasuredValues, type ValuationRecord, sameValues, type Values } from "./valuation-record.ts";
import {
  MAX_CLOCK_DIFFERENCE_MS,
  MAX_DUPLICATE_AGE_MS,
  MEASURED_AHEAD,
  MEASURED_BEFORE,
  type Rejection,
  DUPLICATE,
} from "./rejection.ts";
import type { Minimum, Sample } from "./sample.ts";

/**
 * The outcome for a valuation. `covered`: it was added before, or a sample includes it.
 * `unchanged`: it equals the newest sample, and no valuation waits. `waits`: it becomes part of the
 * next sample. `due`: cut a sample now.
 */
export type ValuationOutcome = "covered" | "unchanged" | "waits" | "due" | Rejection;

/** A sample that was cut and is not accepted yet. */
interface WrittenSample {
  readonly range: SampleRange;
  /** Offset of its first valuation: a new writer reads from there. */
  readonly first: number;
}

/**
 * The writer of one account: coalesces its valuations and numbers samples ahead of the log. If the
 * log accepts a foreign sample (from another writer), the writer resets to the log.
 *
 * Invariants: the written samples that are not accepted yet follow `#log` and each other without a
 * gap; `#head` is the end of that chain. `#lows` was given every valuation after `#log.to` that
 * changed something, so no minimum is lost when the chain is dropped. A valuation that equals the
 * newest sample is not kept: that sample's equity is part of the next interval's minimum in any
 * case.
 */
export class AccountWriter {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly key: string;
  /** The state of the account in the log. */
  #log: LogState;
  /** The state that the log will have after it has accepted every written sample. */
  #head: LogState;
  readonly #written: WrittenSample[] = [];
  readonly #lows = new IntervalLows();
  #latest: ValuationRecord | null = null;
  #latestMeasuredAtMs: number;
  /** Offset of the first valuation of the next sample; null when nothing waits. */
  #waitsFrom: number | null = null;
  /** The values of the newest written or accepted sample; null if unknown. */
  #published: MeasuredValues | null;
  #publishedAtMs = Number.NEGATIVE_INFINITY;
  /**
   * Whether a sample is due at once: the balance or the number of open positions changed, the
   * values before are unknown, or a reset to the log left valuations for the next sample.
   */
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

  /** Time of the newest cut; -Infinity before the first. */
  get publishedAtMs(): number {
    return this.#publishedAtMs;
  }

  /**
   * Offset of the first kept valuation that is in no accepted sample; null if there is no such
   * valuation.
   */
  get firstOpenOffset(): number | null {
    return this.#written[0]?.first ?? this.#waitsFrom;
  }

  /**
   * Adds a valuation, in log order. `coalesceMs` is the minimum time between two samples if only
   * prices change.
   */
  addValuation(valuation: ValuationRecord, nowMs: number, coalesceMs: number): ValuationOutcome {
    if (valuation.offset <= this.#head.to || valuation.offset <= (this.#latest?.offset ?? -1)) return "covered";
    const rejection = this.#rejectionOf(valuation.measuredAtMs, nowMs);
    if (rejection !== null) return rejection;
    this.#latestMeasuredAtMs = valuation.measuredAtMs;
    if (!this.waits && this.#published !== null && sameValues(this.#published, valuation)) return "unchanged";
    const before: Values | null = this.waits ? this.#latest : this.#published;
    this.#urgent ||=
      before === null ||
      before.balanceMinor !== valuation.balanceMinor ||
      before.openPositionCount !== valuation.openPositionCount;
    this.#latest = valuation;
    this.#waitsFrom ??= valuation.offset;
    this.#lows.add(valuation.offset, valuation.equityMinor, valuation.measuredAt);
    return this.isDue(nowMs, coalesceMs) ? "due" : "waits";
  }

  /**
   * Whether a sample is due at `nowMs`. If valuations wait, a sample is also due if the newest cut
   * is `coalesceMs` or more in the future, because the clock was set back.
   */
  isDue(nowMs: number, coalesceMs: number): boolean {
    return this.waits && (this.#urgent || Math.abs(nowMs - this.#publishedAtMs) >= coalesceMs);
  }

  /** Cuts the next sample from all waiting valuations; at least one must wait. */
  cut(nowMs: number): Sample {
    assert(this.#waitsFrom !== null, "no valuation waits for the sample");
    const latest = assertDefined(this.#latest, "the latest valuation");
    const minimum = this.#minimum();
    const range = { sequence: this.#head.sequence + 1, from: this.#head.to, to: latest.offset };
    this.#written.push({ range, first: this.#waitsFrom });
    this.#head = range;
    this.#published = latest;
    this.#publishedAtMs = nowMs;
    this.#waitsFrom = null;
    this.#urgent = false;
    return { range, values: latest, measuredAt: latest.measuredAt, minimum };
  }

  /**
   * Applies the account's next accepted sample. An own sample is durable now. A foreign sample
   * replaces the writer's own samples; valuations that it does not include wait for the next
   * sample. `valuesOf` returns the values of the foreign sample; null: it cannot be decoded.
   */
  accept(range: SampleRange, valuesOf: () => MeasuredValues | null): "own" | "foreign" {
    const ours = this.#written[0];
    this.#log = range;
    this.#lows.forgetUpTo(range.to);
    if (ours !== undefined && sameRange(ours.range, range)) {
      this.#written.shift();
      return "own";
    }
    this.#resetToLog(valuesOf());
    return "foreign";
  }

  /**
   * Drops written samples that will not be accepted any more; their valuations wait for the next
   * sample. `valuesOf` returns the values of the newest accepted sample; null: unknown.
   */
  abandon(valuesOf: () => MeasuredValues | null): void {
    if (this.#written.length > 0) this.#resetToLog(valuesOf());
  }

  #rejectionOf(measuredAtMs: number, nowMs: number): Rejection | null {
    const latestAllowedMs = nowMs + MAX_CLOCK_DIFFERENCE_MS;
    if (measuredAtMs > latestAllowedMs) return MEASURED_AHEAD;
    // The last `measuredAt` can be too far ahead: an earlier release accepted it, or the clock was
    // set back since. Then it must not block later valuations.
    if (this.#latestMeasuredAtMs > latestAllowedMs || measuredAtMs >= this.#latestMeasuredAtMs) return null;
    return this.#latestMeasuredAtMs - measuredAtMs <= MAX_DUPLICATE_AGE_MS ? DUPLICATE : MEASURED_BEFORE;
  }

  /**
   * The lowest equity since the newest sample, including that sample's equity. Of equal lows the
   * earliest wins.
   */
  #minimum(): Minimum {
    const low = assertDefined(this.#lows.lowestAfter(this.#head.to), "the lowest equity of the interval");
    const newest = this.#published;
    if (newest === null || newest.equityMinor > low.equityMinor) return low;
    return { equityMinor: newest.equityMinor, measuredAt: newest.measuredAt };
  }

  #resetToLog(published: MeasuredValues | null): void {
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
