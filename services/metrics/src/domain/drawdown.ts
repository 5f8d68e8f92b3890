/**
 * Drawdowns (decisions, 9): how far the equity fell from its value at the start of the server's
 * day, and from its highest value ever, in percent. Samples say when their interval's lowest equity
 * was measured, so that a low counts for its own day.
 */

/** What one sample says of the equity; minor units. */
export interface EquityObserved {
  readonly equityMinor: number;
  readonly measuredAtMs: number;
  readonly minimumMinor: number;
  readonly minimumAtMs: number;
}

/** What the next drawdown is reckoned from. */
export interface DrawdownState {
  /** Of the newest sample. */
  readonly equityMinor: number;
  /** Start of the newest sample's day (00:00 UTC), in milliseconds. */
  readonly dayMs: number;
  readonly dayStartMinor: number;
  readonly dayLowMinor: number;
  readonly peakMinor: number;
  /** The lowest since the peak. */
  readonly lowMinor: number;
}

const DAY_MS = 86_400_000;
const PERCENT = 100;
/** Four decimals are kept. */
const PRECISION = 10_000;

/**
 * The state after a sample. Before an account's first sample its day began with that sample's
 * equity.
 */
export function observe(state: DrawdownState | null, seen: EquityObserved): DrawdownState {
  const dayMs = startOfDay(seen.measuredAtMs);
  const newDay = state === null || dayMs > state.dayMs;
  // An account that nothing has changed still has the equity of its last sample when the day
  // begins.
  const dayStartMinor = newDay ? (state?.equityMinor ?? seen.equityMinor) : state.dayStartMinor;
  const lowest = Math.min(seen.equityMinor, seen.minimumMinor);
  const lowestToday = startOfDay(seen.minimumAtMs) < dayMs ? seen.equityMinor : lowest;
  // The interval's minimum was measured before this sample: a new peak leaves it behind.
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

/** Percent of the equity at the start of the day. */
export function dailyDrawdown(state: DrawdownState): number {
  return percentLost(state.dayStartMinor, state.dayLowMinor);
}

/** Percent of the highest equity ever. */
export function totalDrawdown(state: DrawdownState): number {
  return percentLost(state.peakMinor, state.lowMinor);
}

/** 0 where there was nothing to lose. */
function percentLost(fromMinor: number, lowMinor: number): number {
  if (fromMinor <= 0) return 0;
  const percent = ((fromMinor - lowMinor) / fromMinor) * PERCENT;
  return Math.max(0, Math.round(percent * PRECISION) / PRECISION);
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}
