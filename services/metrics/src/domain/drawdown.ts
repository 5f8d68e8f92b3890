/**
 * Drawdowns (decisions, 9), in percent: the largest loss of equity since the start of the day
 * (00:00 UTC), and since the highest equity. The interval of a sample begins with the sample before
 * it. A sample has the lowest equity of its interval, and the time of this low: a low of an earlier
 * day does not count for the sample's day.
 */

/** The equity of one sample, and the lowest equity of its interval; minor units. */
export interface EquityObserved {
  readonly equityMinor: number;
  readonly measuredAtMs: number;
  readonly minimumMinor: number;
  readonly minimumAtMs: number;
}

/** The state from which the next drawdown is computed. */
export interface DrawdownState {
  /** The equity of the newest sample. */
  readonly equityMinor: number;
  /** Start of the newest sample's day (00:00 UTC), in milliseconds. */
  readonly dayMs: number;
  /** The equity at the start of the day. */
  readonly dayStartMinor: number;
  /** The lowest equity since the start of the day. */
  readonly dayLowMinor: number;
  /** The highest equity ever. */
  readonly peakMinor: number;
  /** The lowest equity since the peak. */
  readonly lowMinor: number;
}

const DAY_MS = 86_400_000;
const PERCENT = 100;
/** Four decimals are kept. */
const PRECISION = 10_000;

/**
 * Returns the state after a sample. An account's first day starts with its first sample's equity.
 */
export function observe(state: DrawdownState | null, seen: EquityObserved): DrawdownState {
  const dayMs = startOfDay(seen.measuredAtMs);
  const newDay = state === null || dayMs > state.dayMs;
  // A new day starts with the equity of the last sample before it.
  const dayStartMinor = newDay ? (state?.equityMinor ?? seen.equityMinor) : state.dayStartMinor;
  const lowest = Math.min(seen.equityMinor, seen.minimumMinor);
  const lowestToday = startOfDay(seen.minimumAtMs) < dayMs ? seen.equityMinor : lowest;
  // The interval's minimum was measured before this sample, so it does not count after a new peak.
  const isPeak = state === null || seen.equityMinor > state.peakMinor;
  return {
    equityMinor: seen.equityMinor,
    dayMs,
    dayStartMinor,
    dayLowMinor: Math.min(newDay ? dayStartMinor : state.dayLowMinor, lowestToday),
    peakMinor: isPeak ? seen.equityMinor : state.peakMinor,
    lowMinor: isPeak ? seen.equityMinor : Math.min(state.lowMinor, lowest),
  };
}

/** The largest loss of the day, in percent of the equity at its start. */
export function dailyDrawdown(state: DrawdownState): number {
  return percentLost(state.dayStartMinor, state.dayLowMinor);
}

/** The largest loss since the highest equity ever, in percent of that equity. */
export function totalDrawdown(state: DrawdownState): number {
  return percentLost(state.peakMinor, state.lowMinor);
}

/** Percent lost from `fromMinor` to `lowMinor`; 0 if `fromMinor` is not positive. */
function percentLost(fromMinor: number, lowMinor: number): number {
  if (fromMinor <= 0) return 0;
  const percent = ((fromMinor - lowMinor) / fromMinor) * PERCENT;
  return Math.max(0, Math.round(percent * PRECISION) / PRECISION);
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}
