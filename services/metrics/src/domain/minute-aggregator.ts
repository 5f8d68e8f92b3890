import type { AccountRef } from "@kapi/contracts";
import type { SampleRange } from "@kapi/contracts/codec";
import type { FrameContent } from "./codec/live-frame.ts";
import { dailyDrawdown, type DrawdownState, observe, totalDrawdown } from "./drawdown.ts";
import { type EquityHour, hourWith, startOfHour } from "./equity-hour.ts";
import { BEFORE_FIRST, acceptSample, type LogState } from "./acceptance-rule.ts";

const MINUTE_MS = 60_000;

/** A snapshot before it is stored; money in minor units. */
export interface Snapshot {
  readonly account: AccountRef;
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
  /**
   * The lowest and highest equity of the minute, with the lows between its samples. Samples that
   * were late for an earlier minute count too.
   */
  readonly lowestEquityMinor: number;
  readonly highestEquityMinor: number;
}

/** The stored state of an account, from which its aggregation continues. */
export interface AggregatorState {
  /** The newest sample that the state includes. */
  readonly log: LogState;
  readonly drawdown: DrawdownState;
}

/** A closed minute: its snapshot, and the state to store with it. */
export interface ClosedMinute {
  readonly snapshot: Snapshot;
  readonly state: AggregatorState;
  /** Position in `metrics.samples` of the minute's first sample. */
  readonly fromOffset: number;
  /**
   * The hour that ended before this minute; null if none ended. `unknown`: another process may have
   * stored the minutes before this one. The store then computes the ended hour, if there is one,
   * from the stored minutes.
   */
  readonly endedHour: EquityHour | "unknown" | null;
}

/** A sample to aggregate. */
export interface AggregatorInput {
  readonly range: SampleRange;
  /** Size of the record's value. */
  readonly frameBytes: number;
  /** Position in `metrics.samples`. */
  readonly offset: number;
}

/**
 * Aggregates one account's samples to snapshots: the last sample of each minute in which the
 * account changed. `isNext` applies the acceptance rule from the stored state on. The caller adds
 * only samples that are next, or that continue the account after a gap in the log. So records that
 * are read again change nothing.
 */
export class MinuteAggregator {
  readonly #account: AccountRef;
  #log: LogState;
  #drawdown: DrawdownState | null;
  #open: ClosedMinute | null = null;
  /** The lowest and highest equity since a minute was last closed; null: no sample since. */
  #extremes: { readonly lowest: number; readonly highest: number } | null = null;
  /** Start of the last closed minute. */
  #closedMs = Number.NEGATIVE_INFINITY;
  /**
   * The hour of the last closed minute; null: no minute was closed yet. `unknown`: another process
   * may have stored some minutes of this hour.
   */
  #hour: EquityHour | "unknown" | null;

  constructor(account: AccountRef, stored: AggregatorState | null) {
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

  /** Position of the open minute's first sample; null if no minute is open. */
  get openFrom(): number | null {
    return this.#open?.fromOffset ?? null;
  }

  /**
   * Adds an accepted sample.
   * @returns the open minute, if the sample belongs to a later one and so closes it; else null.
   */
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

  /** Closes and returns the open minute, if it ended at or before `horizonMs`; otherwise null. */
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
    // The first minute of this process may be in an hour with minutes of another process.
    const isFirst = this.#closedMs === Number.NEGATIVE_INFINITY;
    return beginsHour && !isFirst ? hourWith(null, minute) : "unknown";
  }
}
