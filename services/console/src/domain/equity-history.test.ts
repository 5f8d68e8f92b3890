import { EQUITY_RANGES, type EquityRange, MAX_EQUITY_HISTORY_DAYS, MAX_EQUITY_POINTS } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { equityTimes } from "./equity-history.ts";

const RANGES = Object.keys(EQUITY_RANGES) as EquityRange[];
const MINUTE_MS = 60_000;
const nowMs = Date.parse("2026-11-28T14:37:21.500Z");

describe("the times of an equity history", () => {
  it.each(RANGES)("of the last %s include now, and stay the same until the next point", (range) => {
    const { fromMs, toMs, points } = equityTimes(range, nowMs);
    const pointMs = (toMs - fromMs) / points;
    expect(toMs - fromMs).toBe(EQUITY_RANGES[range].minutes * MINUTE_MS);
    expect([toMs > nowMs, toMs - pointMs <= nowMs, fromMs % pointMs, pointMs % MINUTE_MS]).toEqual([true, true, 0, 0]);
    expect(equityTimes(range, toMs - 1)).toEqual({ fromMs, toMs, points });
    expect(equityTimes(range, toMs).fromMs).toBe(fromMs + pointMs);
  });

  it.each(RANGES)("of the last %s are within the bounds of the metrics service", (range) => {
    const { minutes, points } = EQUITY_RANGES[range];
    expect(points).toBeLessThanOrEqual(MAX_EQUITY_POINTS);
    expect(minutes).toBeLessThanOrEqual(MAX_EQUITY_HISTORY_DAYS * 24 * 60);
  });
});
