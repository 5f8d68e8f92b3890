import { AccountMetricsFrame } from "@kapi/contracts";
import { minorFromAmount } from "@kapi/kernel";

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
  readonly frame: Buffer;
  /** In `metrics.samples`. */
  readonly offset: number;
}

/**
 * One account's samples on their way to snapshots: the last sample of each minute in which the account changed. It begins
 * at what the database has of the account and judges from there, so records that are read again change nothing.
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
    return counts(this.#log, record.span, record.frame.length);
  }

  /** From where the log would have to be read again for the minute that is not over; null if there is none. */
  get openFrom(): number | null {
    return this.#open?.fromOffset ?? null;
  }

  /** Takes a sample in that counts; the answer is the minute that it ends. */
  take(record: BookRecord): ClosedMinute | null {
    const { span, frame, offset } = record;
    this.#log = { sequence: span.sequence, to: span.to };
    const sample = sampleFromFrame(frame);
    const amounts = sample === null ? null : minorAmounts(sample);
    if (sample === null || amounts === null) return null;
    const { equityMinor, minimumMinor, ...others } = amounts;
    const measuredAtMs = Date.parse(sample.measuredAt);
    const minuteMs = Math.floor(measuredAtMs / MINUTE_MS) * MINUTE_MS;
    const ended = this.#open !== null && this.#open.snapshot.measuredAtMs < minuteMs ? this.#close() : null;
    const drawdown = observe(this.#drawdown, {
      equityMinor,
      measuredAtMs,
      minimumMinor,
      minimumAtMs: Date.parse(sample.intervalMinimumMeasuredAt),
    });
    this.#drawdown = drawdown;
    this.#open = {
      snapshot: {
        account: this.#account,
        measuredAtMs: minuteMs,
        sequence: span.sequence,
        ...others,
        equityMinor,
        marginLevel: sample.marginLevel,
        dailyDrawdown: dailyDrawdown(drawdown),
        totalDrawdown: totalDrawdown(drawdown),
      },
      state: { log: this.#log, drawdown },
      fromOffset: this.#open?.fromOffset ?? offset,
    };
    return ended;
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

type FrameValues = Pick<
  AccountMetricsFrame,
  | "measuredAt"
  | "balance"
  | "equity"
  | "margin"
  | "freeMargin"
  | "marginLevel"
  | "intervalMinimumEquity"
  | "intervalMinimumMeasuredAt"
>;

/** The end of a frame as `frameOf` writes it: taking it apart costs a tenth of parsing and checking it as JSON. */
const FRAME_END =
  /"measuredAt":"([^"]+)","balance":(-?[0-9.]+),"equity":(-?[0-9.]+),"margin":(-?[0-9.]+),"freeMargin":(-?[0-9.]+),"marginLevel":(-?[0-9.]+),"openPositionCount":[0-9]+,"intervalMinimumEquity":(-?[0-9.]+),"intervalMinimumMeasuredAt":"([^"]+)"\}$/;

function sampleFromFrame(frame: Buffer): FrameValues | null {
  const found = FRAME_END.exec(frame.toString("latin1"));
  if (found === null) return sampleFromJson(frame);
  return {
    measuredAt: found[1] ?? "",
    balance: Number(found[2]),
    equity: Number(found[3]),
    margin: Number(found[4]),
    freeMargin: Number(found[5]),
    marginLevel: Number(found[6]),
    intervalMinimumEquity: Number(found[7]),
    intervalMinimumMeasuredAt: found[8] ?? "",
  };
}

/** A frame of another form, such as one of another version. */
function sampleFromJson(frame: Buffer): FrameValues | null {
  let json: unknown;
  try {
    json = JSON.parse(frame.toString("utf8"));
  } catch {
    return null;
  }
  const parsed = AccountMetricsFrame.safeParse(json);
  return parsed.success ? parsed.data : null;
}

/** The amounts in minor units; null if one is no whole number of cents, as above 2^53 cents. */
function minorAmounts(sample: FrameValues) {
  const balanceMinor = minorFromAmount(sample.balance);
  const equityMinor = minorFromAmount(sample.equity);
  const marginMinor = minorFromAmount(sample.margin);
  const freeMarginMinor = minorFromAmount(sample.freeMargin);
  const minimumMinor = minorFromAmount(sample.intervalMinimumEquity);
  if (balanceMinor === null || equityMinor === null || marginMinor === null) return null;
  if (freeMarginMinor === null || minimumMinor === null) return null;
  return { balanceMinor, equityMinor, marginMinor, freeMarginMinor, minimumMinor };
}
