import { EQUITY_RANGES, type EquityHistory, type EquityRange, type AccountRef } from "@kapi/contracts";

const MINUTE_MS = 60_000;

/** The times of a history, and its maximum number of points. */
export interface EquityTimes {
  readonly fromMs: number;
  readonly toMs: number;
  readonly points: number;
}

/**
 * Reads the equity history of an account from the metrics service. Callers first check that the
 * organization has the account.
 */
export type EquityHistories = (
  organizationId: string,
  account: AccountRef,
  times: EquityTimes,
) => Promise<EquityHistory>;

/**
 * The times of a range that includes now. Start and end are whole multiples of the time between two
 * points, so the earlier points stay the same while time passes. The range ends at the first such
 * multiple after now.
 */
export function equityTimes(range: EquityRange, nowMs: number): EquityTimes {
  const { minutes, points } = EQUITY_RANGES[range];
  const pointMs = (minutes / points) * MINUTE_MS;
  const toMs = Math.floor(nowMs / pointMs) * pointMs + pointMs;
  return { fromMs: toMs - minutes * MINUTE_MS, toMs, points };
}
