import type { AccountMetricsFrame } from "../src/api/shapes.ts";

/** A sample without margin and positions, for tests. */
export function sampleAt(atMs: number, equity: number, sequence = 1): AccountMetricsFrame {
  const measuredAt = new Date(atMs).toISOString();
  return {
    type: "account.metrics",
    eventId: "01890000-0000-7000-8000-000000000000",
    serverId: "01890000-0000-7000-8000-000000000001",
    accountNumber: "10000001",
    sequence,
    measuredAt,
    balance: 900,
    equity,
    margin: 0,
    freeMargin: equity,
    marginLevel: 0,
    openPositionCount: 0,
    intervalMinimumEquity: equity,
    intervalMinimumMeasuredAt: measuredAt,
  };
}
