import { assert, assertDefined } from "@kapi/kernel";

import type { Repeat } from "./account-stream.ts";
import { IntervalLows } from "./interval.ts";
import { type LogState, sameSpan, type Span } from "./judge.ts";
import { type Reading, sameValues, type Values } from "./reading.ts";
import type { Minimum, Sample } from "./sample.ts";

/**
 * What became of a valuation. `covered`: a sample in the log has it already. `older`: measured before the one before
 * it. `unchanged`: says what the last sample said. `waits`: part of the next sample. `due`: a sample is to be cut now.
 */
export type Taken = "covered" | "older" | "unchanged" | "waits" | "due";

/** Dropped valuations that are kept of one interval. */
const MAX_DROPPED = 128;

/** A valuation that was dropped because it said what the one before it had said. */
interface Dropped extends Minimum {
  readonly offset: number;
}

interface WrittenSample {
  readonly span: Span;
  readonly values: Values;
  /** Offset of the first valuation that it takes in and that a successor would need. */
  readonly first: number;
}

/**
 * The writer's side of one account: coalesces its valuations, gives sequences ahead of the log, and goes back to the
 * log's word when that is another.
 *
 * Invariants: the written samples that the log has not shown yet follow `log` and each other without a gap; `head` is
 * the end of that chain; every valuation behind `log.to` is still in `#lows`, so none is lost when the chain is dropped.
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
  /** Valuations dropped since the newest sample, the first above all: they say the same, but were observed in the interval too. */
  readonly #dropped: Dropped[] = [];
  /** Whether a successor knows of them even if it does not read them. */
  #droppedKept = false;
  /** What the newest written or judged sample says; null when that is not known. */
  #published: Values | null;
  #publishedAtMs = Number.NEGATIVE_INFINITY;
  #urgent = false;

  constructor(
    account: { readonly key: string; readonly serverId: string; readonly accountNumber: string },
    log: LogState,
    newest: (Values & { readonly measuredAtMs: number }) | null,
    repeat: Repeat | null = null,
  ) {
    this.key = account.key;
    this.serverId = account.serverId;
    this.accountNumber = account.accountNumber;
    this.#log = log;
    this.#head = log;
    this.#published = newest;
    this.#latestMeasuredAtMs = newest?.measuredAtMs ?? Number.NEGATIVE_INFINITY;
    if (repeat === null || newest === null) return;
    this.#dropped.push({ ...repeat, equityMinor: newest.equityMinor });
    this.#droppedKept = true;
  }

  /** Whether valuations wait for the next sample. */
  get waits(): boolean {
    return this.#waitsFrom !== null;
  }

  /** When the newest sample was cut. */
  get publishedAtMs(): number {
    return this.#publishedAtMs;
  }

  /** Offset of the first valuation that no judged sample or checkpoint has yet; null when all are durable. */
  get firstOpenOffset(): number | null {
    return this.#written[0]?.first ?? this.#waitsFrom ?? this.#openDropped?.offset ?? null;
  }

  /** The first repeat of the log's newest sample, while it must still be made known to a successor. */
  get openRepeat(): Repeat | null {
    const dropped = this.#written.length === 0 && !this.waits ? this.#openDropped : null;
    if (dropped === null) return null;
    return { sequence: this.#log.sequence, offset: dropped.offset, measuredAt: dropped.measuredAt };
  }

  /** A checkpoint with this repeat is durable. */
  repeatKept(repeat: Repeat): void {
    const { openRepeat } = this;
    if (openRepeat?.sequence === repeat.sequence && openRepeat.offset >= repeat.offset) this.#droppedKept = true;
  }

  /** Takes in a valuation; `coalesceMs` is the least time between two samples that only prices have moved. */
  take(reading: Reading, nowMs: number, coalesceMs: number): Taken {
    if (reading.offset <= this.#head.to || reading.offset <= (this.#latest?.offset ?? -1)) return "covered";
    if (reading.measuredAtMs < this.#latestMeasuredAtMs) return "older";
    this.#latestMeasuredAtMs = reading.measuredAtMs;
    if (!this.waits && this.#published !== null && sameValues(this.#published, reading)) {
      this.#drop(reading);
      return "unchanged";
    }
    const before: Values | null = this.waits ? this.#latest : this.#published;
    this.#urgent ||=
      before === null ||
      before.balanceMinor !== reading.balanceMinor ||
      before.openPositionCount !== reading.openPositionCount;
    this.#latest = reading;
    this.#waitsFrom ??= this.#openDropped?.offset ?? reading.offset;
    this.#takeDropped();
    this.#lows.add(reading.offset, reading.equityMinor, reading.measuredAt);
    return this.isDue(nowMs, coalesceMs) ? "due" : "waits";
  }

  /** Whether a sample is to be cut at `nowMs`. */
  isDue(nowMs: number, coalesceMs: number): boolean {
    return this.waits && (this.#urgent || this.#publishedAtMs + coalesceMs <= nowMs);
  }

  /** Makes the next sample of everything that waits; something must. */
  cut(nowMs: number): Sample {
    assert(this.#waitsFrom !== null, "a sample is cut only of valuations that wait");
    const latest = assertDefined(this.#latest, "the latest valuation");
    const minimum = assertDefined(this.#lows.lowestAfter(this.#head.to), "the lowest equity of the interval");
    const span = { sequence: this.#head.sequence + 1, from: this.#head.to, to: latest.offset };
    this.#written.push({ span, values: latest, first: this.#waitsFrom });
    this.#head = span;
    this.#published = latest;
    this.#publishedAtMs = nowMs;
    this.#waitsFrom = null;
    this.#urgent = false;
    return { span, values: latest, measuredAt: latest.measuredAt, minimum };
  }

  /**
   * The log has shown the account's next sample. Ours: it is durable now. Another's: the log's word counts; what
   * ours had taken in beyond it waits for the next sample. `valuesOf` reads what that other sample says.
   */
  judged(span: Span, valuesOf: () => (Values & { readonly measuredAtMs: number }) | null): "ours" | "another's" {
    const ours = this.#written[0];
    this.#log = span;
    this.#lows.forgetUpTo(span.to);
    this.#droppedKept = false;
    if (ours !== undefined && sameSpan(ours.span, span)) {
      this.#written.shift();
      return "ours";
    }
    this.#goBack(valuesOf());
    return "another's";
  }

  /** Gives up the written samples that the log will not show any more; their valuations wait for the next one. */
  abandon(valuesOf: () => (Values & { readonly measuredAtMs: number }) | null): void {
    if (this.#written.length > 0) this.#goBack(valuesOf());
  }

  /** The first dropped valuation of the interval. */
  get #firstDropped(): Dropped | null {
    return this.#dropped.find((one) => one.offset > this.#head.to) ?? null;
  }

  get #openDropped(): Dropped | null {
    return this.#droppedKept ? null : this.#firstDropped;
  }

  /**
   * The first of the dropped is enough, but while ours are not judged: another's sample may take their place that ends
   * between two of the dropped. Beyond the limit the last one stands for those before it.
   */
  #drop(reading: Reading): void {
    const isFirst = this.#firstDropped === null;
    if (!isFirst && this.#written.length === 0) return;
    if (isFirst) this.#dropped.length = 0;
    if (this.#dropped.length >= MAX_DROPPED) this.#dropped.pop();
    this.#dropped.push(reading);
  }

  #takeDropped(): void {
    const dropped = this.#firstDropped;
    if (dropped !== null) this.#lows.add(dropped.offset, dropped.equityMinor, dropped.measuredAt);
    this.#dropped.length = 0;
    this.#droppedKept = false;
  }

  #goBack(published: (Values & { readonly measuredAtMs: number }) | null): void {
    const open = [...this.#written.map((sample) => sample.first), this.#waitsFrom].filter((offset) => offset !== null);
    this.#written.length = 0;
    this.#head = this.#log;
    this.#published = published;
    const latest = this.#latest;
    const rest = latest !== null && latest.offset > this.#log.to && open.length > 0;
    this.#waitsFrom = rest ? Math.max(open[0] ?? 0, this.#log.to + 1) : null;
    this.#urgent = rest;
    if (published !== null) this.#latestMeasuredAtMs = Math.max(this.#latestMeasuredAtMs, published.measuredAtMs);
  }
}
