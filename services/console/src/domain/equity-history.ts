import { EQUITY_RANGES, type EquityHistory, type EquityRange } from "@kapi/contracts";

import type { AccountName } from "./ports.ts";

const MINUTE_MS = 60_000;

/** The times of a history, and its maximum number of points. */
export interface EquityTimes {
  readonly fromMs: number;
  readonly toMs: number;
  readonly points: number;
}

/** The equity history of an account in the metrics service. Check the account first. */
export type EquityHistories = (
  organizationId: string,
  account: AccountName,
  times: EquityTimes,
) => Promise<EquityHistory>;

/**
 * The times of a range that ends now. They are whole multiples of the length of a point, so that
 * points stay the same while time passes.
 */
export function equityTimes(range: EquityRange, nowMs: number): EquityTimes {
  const { minutes, points } = EQUITY_RANGES[range];
  const pointMs = (minutes / points) * MINUTE_MS;
  const toMs = Math.floor(nowMs / pointMs) * pointMs + pointMs;
  return { fromMs: toMs - minutes * MINUTE_MS, toMs, points };
}
