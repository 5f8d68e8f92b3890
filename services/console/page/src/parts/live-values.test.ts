import { describe, expect, it } from "vitest";

import type { TradingAccount } from "../api/shapes.ts";
import { sampleAt } from "../../test/sample.ts";
import { liveValues } from "./live-values.ts";

const AT_MS = Date.parse("2026-11-21T12:00:00.000Z");
const account: TradingAccount = {
  id: "01890000-0000-7000-8000-000000000002",
  organizationId: "01890000-0000-7000-8000-000000000003",
  serverId: "01890000-0000-7000-8000-000000000001",
  accountNumber: "10000001",
  accountName: "One",
  status: "active",
  statusReason: null,
  environment: "demo",
  currency: "USD",
  currencySymbol: "$",
  leverage: 100,
  initialBalance: 500,
  balance: 500,
  equity: 500,
  usedMargin: 0,
  freeMargin: 500,
  marginLevel: null,
  unrealizedProfit: 0,
  openPositionCount: 0,
  metricsSequence: 1,
  metricsMeasuredAt: new Date(AT_MS).toISOString(),
  version: 1,
  createdAt: new Date(AT_MS).toISOString(),
  updatedAt: new Date(AT_MS).toISOString(),
  activatedAt: new Date(AT_MS).toISOString(),
  disabledAt: null,
  archivedAt: null,
};

describe("the live values of an account", () => {
  it("are those of the newest sample, with the open profit that follows from them", () => {
    const sample = {
      ...sampleAt(AT_MS + 1, 1_000.1),
      balance: 900.3,
      margin: 100,
      marginLevel: 1_000.1,
      freeMargin: 900,
    };
    expect(liveValues(account, sample)).toEqual({
      ...account,
      balance: 900.3,
      equity: 1_000.1,
      usedMargin: 100,
      freeMargin: 900,
      marginLevel: 1_000.1,
      unrealizedProfit: 99.8,
      metricsSequence: sample.sequence,
      metricsMeasuredAt: sample.measuredAt,
    });
  });

  it("have no margin level without margin", () => {
    expect(liveValues(account, sampleAt(AT_MS, 700))).toMatchObject({ equity: 700, marginLevel: null });
  });

  it("are the loaded values if there is no sample, or only an older sample", () => {
    expect(liveValues(account, undefined)).toBe(account);
    expect(liveValues(account, sampleAt(AT_MS - 1, 1_000))).toBe(account);
  });

  it("are those of any sample if the loaded account has no measured values", () => {
    expect(liveValues({ ...account, metricsMeasuredAt: null }, sampleAt(AT_MS - 1, 1_000)).equity).toBe(1_000);
  });
});
