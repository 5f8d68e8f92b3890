import { describe, expect, it } from "vitest";

import { valuesFromSample, valuesFromValuation } from "./account-values.ts";

describe("the values of an account", () => {
  it("have a null margin level if no margin is used, although the valuation has 0", () => {
    const valuation = {
      serverId: "0192d3a0-0000-7000-8000-000000000001",
      accountNumber: "10000001",
      measuredAt: "2026-01-05T00:00:00.000Z",
      balanceMinor: 100_000,
      equityMinor: 100_000,
      marginMinor: 0,
      freeMarginMinor: 100_000,
      marginLevel: 0,
      unrealizedProfitMinor: 0,
      openPositionCount: 0,
    };
    expect(valuesFromValuation(valuation, 7)).toMatchObject({ balance: 1000, marginLevel: null, metricsSequence: 7 });
    expect(valuesFromValuation({ ...valuation, marginMinor: 50_000, marginLevel: 200 }, 7).marginLevel).toBe(200);
  });

  it("of a sample have the unrealized profit in whole cents", () => {
    const sample = {
      type: "account.metrics",
      eventId: "0192d3a0-0000-7000-8000-000000000002",
      serverId: "0192d3a0-0000-7000-8000-000000000001",
      accountNumber: "10000001",
      sequence: 3,
      measuredAt: "2026-01-05T00:00:00.000Z",
      balance: 0.1,
      equity: 0.3,
      margin: 0,
      freeMargin: 0.3,
      marginLevel: 0,
      openPositionCount: 1,
      intervalMinimumEquity: 0.3,
      intervalMinimumMeasuredAt: "2026-01-05T00:00:00.000Z",
    } as const;
    expect(valuesFromSample(sample).unrealizedProfit).toBe(0.2);
  });
});
