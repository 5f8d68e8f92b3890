/** The minutes of an account and hour in one record, for charts of long times. */

const HOUR_MS = 3_600_000;

/** A stored minute of an account, in order of time; minor units. */
export interface EquityMinute {
  readonly measuredAtMs: number;
  readonly equityMinor: number;
  readonly balanceMinor: number;
  readonly lowestEquityMinor: number;
  readonly highestEquityMinor: number;
}

export interface EquityHour {
  /** The first and the last minute. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** Of the last minute. */
  readonly equityMinor: number;
  readonly balanceMinor: number;
  readonly lowestEquityMinor: number;
  readonly highestEquityMinor: number;
  /** The deepest drawdown from an equity of the hour, and that equity. */
  readonly drawdownMinor: number;
  readonly drawdownFromMinor: number;
}

export function startOfHour(ms: number): number {
  return Math.floor(ms / HOUR_MS) * HOUR_MS;
}

/**
 * The hour with its next minute; null: the first minute. Within a minute only the last equity is
 * known to follow the highest one. Equal to `joinedSegments` in SQL.
 */
export function hourWith(hour: EquityHour | null, minute: EquityMinute): EquityHour {
  const { measuredAtMs, equityMinor, balanceMinor, lowestEquityMinor, highestEquityMinor } = minute;
  const last = { lastMs: measuredAtMs, equityMinor, balanceMinor };
  const own = { drawdownMinor: highestEquityMinor - equityMinor, drawdownFromMinor: highestEquityMinor };
  if (hour === null) return { firstMs: measuredAtMs, ...last, lowestEquityMinor, highestEquityMinor, ...own };
  const fromBefore = {
    drawdownMinor: hour.highestEquityMinor - lowestEquityMinor,
    drawdownFromMinor: hour.highestEquityMinor,
  };
  const { drawdownMinor, drawdownFromMinor } = [hour, own, fromBefore].reduce(deeper);
  return {
    firstMs: hour.firstMs,
    ...last,
    lowestEquityMinor: Math.min(hour.lowestEquityMinor, lowestEquityMinor),
    highestEquityMinor: Math.max(hour.highestEquityMinor, highestEquityMinor),
    drawdownMinor,
    drawdownFromMinor,
  };
}

type Drawdown = Pick<EquityHour, "drawdownMinor" | "drawdownFromMinor">;

/** Of equal drawdowns, the one from the higher equity. */
function deeper(one: Drawdown, other: Drawdown): Drawdown {
  const depth = other.drawdownMinor - one.drawdownMinor;
  return depth > 0 || (depth === 0 && other.drawdownFromMinor > one.drawdownFromMinor) ? other : one;
}
