import type { SampleRange } from "@kapi/contracts/codec";
import type { FrameContent } from "./codec/live-frame.ts";
import { dailyDrawdown, type DrawdownState, observe, totalDrawdown } from "./drawdown.ts";
import { type EquityHour, hourWith, startOfHour } from "./equity-hour.ts";
import { BEFORE_FIRST, acceptSample, type LogState } from "./acceptance-rule.ts";
import type { AccountId } from "./sample.ts";

const MINUTE_MS = 60_000;

/** A snapshot before it is stored; money in minor units. */
export interface Snapshot {
  readonly account: AccountId;
  /** Rounded down to the minute. */
  readonly measuredAtMs: number;
  readonly sequence: number;
  readonly balanceMinor: number;
  readonly equityMinor: number;
  readonly marginMinor: number;
  readonly freeMarginMinor: number;
  readonly marginLevel: number;
  readonly dailyDrawdown: number;
  readonly totalDrawdown: number;
  /** Of all samples of the minute, with the lows between them, and of late ones before it. */
  readonly lowestEquityMinor: number;
  readonly highestEquityMinor: number;
}

/** The state of an account's aggregation. */
export interface AggregatorState {
  readonly log: LogState;
  readonly drawdown: DrawdownState;
}

/** A closed minute: its snapshot, and the state to store with it. */
export interface ClosedMinute {
  readonly snapshot: Snapshot;
  readonly state: AggregatorState;
  /** Offset in `metrics.samples` of the minute's first sample. */
  readonly fromOffset: number;
  /**
   * The hour of the minutes before, if this is the first one of a later hour; `unknown`: another
   * process has stored some of them.
   */
  readonly endedHour: EquityHour | "unknown" | null;
}

/** A sample to aggregate. */
export interface AggregatorInput {
  readonly range: SampleRange;
  readonly frameBytes: number;
  /** Offset in `metrics.samples`. */
  readonly offset: number;
}

/**
 * Aggregates one account's samples to snapshots: the last sample of each minute in which the
 * account changed. It starts from the stored state and applies the acceptance rule from there, so
 * records that are read again change nothing.
 */
export class MinuteAggregator {
  readonly #account: AccountId;
  #log: LogState;
  #drawdown: DrawdownState | null;
  #open: ClosedMinute | null = null;
  /** Since the start of the open minute, or since the minute before was closed. */
  #extremes: { readonly lowest: number; readonly highest: number } | null = null;
  #closedMs = Number.NEGATIVE_INFINITY;
  /** The hour of the last closed minute. */
  #hour: EquityHour | "unknown" | null;

  constructor(account: AccountId, stored: AggregatorState | null) {
    this.#account = account;
    this.#log = stored?.log ?? BEFORE_FIRST;
    this.#drawdown = stored?.drawdown ?? null;
    this.#hour = stored === null ? null : "unknown";
  }

  /** The sequence of the newest sample. */
  get sequence(): number {
    return this.#log.sequence;
  }

  /** Whether this is the account's next sample. */
  isNext(record: AggregatorInput): boolean {
    return acceptSample(this.#log, record.range, record.frameBytes);
  }

  /**
   * Offset of the open minute's first sample; null if no minute is open.
   */
  get openFrom(): number | null {
    return this.#open?.fromOffset ?? null;
  }

  /** Adds an accepted sample; returns the minute that it closes. */
  addSample(record: AggregatorInput, { values, minimum }: FrameContent): ClosedMinute | null {
    const { range, offset } = record;
    const { equityMinor, measuredAtMs } = values;
    this.#log = { sequence: range.sequence, to: range.to };
    const minuteMs = Math.floor(measuredAtMs / MINUTE_MS) * MINUTE_MS;
    const ended = this.#open !== null && this.#open.snapshot.measuredAtMs < minuteMs ? this.#close() : null;
    const drawdown = observe(this.#drawdown, {
      equityMinor,
      measuredAtMs,
      minimumMinor: minimum.equityMinor,
      minimumAtMs: Date.parse(minimum.measuredAt),
    });
    this.#drawdown = drawdown;
    const { lowest, highest } = this.#extremes ?? { lowest: equityMinor, highest: equityMinor };
    this.#extremes = {
      lowest: Math.min(lowest, equityMinor, minimum.equityMinor),
      highest: Math.max(highest, equityMinor),
    };
    this.#open = {
      snapshot: {
        account: this.#account,
        measuredAtMs: minuteMs,
        sequence: range.sequence,
        balanceMinor: values.balanceMinor,
        equityMinor,
        marginMinor: values.marginMinor,
        freeMarginMinor: values.freeMarginMinor,
        marginLevel: values.marginLevel,
        dailyDrawdown: dailyDrawdown(drawdown),
        totalDrawdown: totalDrawdown(drawdown),
        lowestEquityMinor: this.#extremes.lowest,
        highestEquityMinor: this.#extremes.highest,
      },
      state: { log: this.#log, drawdown },
      fromOffset: this.#open?.fromOffset ?? offset,
      endedHour: null,
    };
    return ended;
  }

  /** Skips an accepted sample that cannot be decoded. */
  skipSample({ range }: AggregatorInput): void {
    this.#log = { sequence: range.sequence, to: range.to };
  }

  /** Closes and returns the open minute, if it ended by `horizonMs`. */
  closeEnded(horizonMs: number): ClosedMinute | null {
    const isOver = this.#open !== null && this.#open.snapshot.measuredAtMs + MINUTE_MS <= horizonMs;
    return isOver ? this.#close() : null;
  }

  #close(): ClosedMinute | null {
    const closed = this.#open;
    this.#open = null;
    // A late sample changes no stored row: its extremes go into the row of the next minute.
    if (closed === null || closed.snapshot.measuredAtMs <= this.#closedMs) return closed;
    const { snapshot } = closed;
    const beginsHour = startOfHour(this.#closedMs) < startOfHour(snapshot.measuredAtMs);
    const endedHour = beginsHour ? this.#hour : null;
    this.#hour = this.#hourWith(snapshot, beginsHour);
    this.#extremes = null;
    this.#closedMs = snapshot.measuredAtMs;
    return { ...closed, endedHour };
  }

  #hourWith(minute: Snapshot, beginsHour: boolean): EquityHour | "unknown" {
    if (this.#hour !== "unknown") return hourWith(beginsHour ? null : this.#hour, minute);
    // The first minute of this process may be in the hour of stored ones.
    const isFirst = this.#closedMs === Number.NEGATIVE_INFINITY;
    return beginsHour && !isFirst ? hourWith(null, minute) : "unknown";
  }
}
