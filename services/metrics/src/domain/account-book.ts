import type { FrameContent } from "./codec/live-frame.ts";
import { dailyDrawdown, type DrawdownState, observe, totalDrawdown } from "./drawdown.ts";
import { BEFORE_FIRST, counts, type LogState, type Span } from "./judge.ts";
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
}

/** How far an account's samples are in its snapshots. */
export interface BookState {
  readonly log: LogState;
  readonly drawdown: DrawdownState;
}

/** A minute that is over: its snapshot, and the state that is durable together with it. */
export interface ClosedMinute {
  readonly snapshot: Snapshot;
  readonly state: BookState;
  /** Offset in `metrics.samples` from which it would have to be read again. */
  readonly fromOffset: number;
}

/** A sample on its way into the book. */
export interface BookRecord {
  readonly span: Span;
  readonly frameBytes: number;
  /** In `metrics.samples`. */
  readonly offset: number;
}

/**
 * One account's samples on their way to snapshots: the last sample of each minute in which the
 * account changed. It begins at what the database has of the account and judges from there, so
 * records that are read again change nothing.
 */
export class AccountBook {
  readonly #account: AccountId;
  #log: LogState;
  #drawdown: DrawdownState | null;
  #open: ClosedMinute | null = null;

  constructor(account: AccountId, stored: BookState | null) {
    this.#account = account;
    this.#log = stored?.log ?? BEFORE_FIRST;
    this.#drawdown = stored?.drawdown ?? null;
  }

  /** The sequence of the newest sample taken in. */
  get sequence(): number {
    return this.#log.sequence;
  }

  /** Whether this is the account's next sample. */
  isNext(record: BookRecord): boolean {
    return counts(this.#log, record.span, record.frameBytes);
  }

  /**
   * From where the log would have to be read again for the minute that is not over; null if there
   * is none.
   */
  get openFrom(): number | null {
    return this.#open?.fromOffset ?? null;
  }

  /** Takes a sample in that counts and says `content`; the answer is the minute that it ends. */
  take(record: BookRecord, { values, minimum }: FrameContent): ClosedMinute | null {
    const { span, offset } = record;
    const { equityMinor, measuredAtMs } = values;
    this.#log = { sequence: span.sequence, to: span.to };
    const minuteMs = Math.floor(measuredAtMs / MINUTE_MS) * MINUTE_MS;
    const ended = this.#open !== null && this.#open.snapshot.measuredAtMs < minuteMs ? this.#close() : null;
    const drawdown = observe(this.#drawdown, {
      equityMinor,
      measuredAtMs,
      minimumMinor: minimum.equityMinor,
      minimumAtMs: Date.parse(minimum.measuredAt),
    });
    this.#drawdown = drawdown;
    this.#open = {
      snapshot: {
        account: this.#account,
        measuredAtMs: minuteMs,
        sequence: span.sequence,
        balanceMinor: values.balanceMinor,
        equityMinor,
        marginMinor: values.marginMinor,
        freeMarginMinor: values.freeMarginMinor,
        marginLevel: values.marginLevel,
        dailyDrawdown: dailyDrawdown(drawdown),
        totalDrawdown: totalDrawdown(drawdown),
      },
      state: { log: this.#log, drawdown },
      fromOffset: this.#open?.fromOffset ?? offset,
    };
    return ended;
  }

  /** Passes over a sample that counts and cannot be read. */
  skip({ span }: BookRecord): void {
    this.#log = { sequence: span.sequence, to: span.to };
  }

  /** The minute that is open, if it had ended at `horizonMs`. */
  closeEnded(horizonMs: number): ClosedMinute | null {
    const isOver = this.#open !== null && this.#open.snapshot.measuredAtMs + MINUTE_MS <= horizonMs;
    return isOver ? this.#close() : null;
  }

  #close(): ClosedMinute | null {
    const closed = this.#open;
    this.#open = null;
    return closed;
  }
}
