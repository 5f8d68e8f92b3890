/** One record for all minutes of an account in one hour, for charts of long periods. */

const HOUR_MS = 3_600_000;

/** A stored minute of an account; minor units. */
export interface EquityMinute {
  readonly measuredAtMs: number;
  readonly equityMinor: number;
  readonly balanceMinor: number;
  readonly lowestEquityMinor: number;
  readonly highestEquityMinor: number;
}

/** The stored minutes of an account in one hour; minor units. */
export interface EquityHour {
  /** Start of the first and of the last stored minute. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** The equity and the balance at the end of the last minute. */
  readonly equityMinor: number;
  readonly balanceMinor: number;
  readonly lowestEquityMinor: number;
  readonly highestEquityMinor: number;
  /** The deepest fall of equity in this hour, and the equity from which it fell. */
  readonly drawdownMinor: number;
  readonly drawdownFromMinor: number;
}

/** Start of the hour (UTC) of a time. */
export function startOfHour(ms: number): number {
  return Math.floor(ms / HOUR_MS) * HOUR_MS;
}

/**
 * Returns `hour` with `minute` added. If `hour` is null, `minute` is the first one of its hour.
 * Minutes are added in order of time. The highest equity of a minute may come after the lowest, but
 * not after the last. So within a minute only the fall from the highest to the last equity counts
 * as a drawdown. Gives the same values as `joinedSegments` in
 * `src/outbound/postgres/equity-segments.ts`.
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

/** Returns the deeper drawdown; of equal ones, that from the higher equity. */
function deeper(one: Drawdown, other: Drawdown): Drawdown {
  const depth = other.drawdownMinor - one.drawdownMinor;
  return depth > 0 || (depth === 0 && other.drawdownFromMinor > one.drawdownFromMinor) ? other : one;
}
