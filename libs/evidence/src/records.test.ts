import { AccountMetricsFrame, type RiskRule, type Valuation } from "@kapi/contracts";
import { expect, it } from "vitest";

import { toEvidenceRule, toSampleEvidence, toValuationEvidence } from "./records.ts";

const SERVER = "0190a5c0-2222-7aaa-8bbb-cccccccccccc";
const MEASURED_AT = "2026-11-26T09:30:40Z";
const VALUATION: Valuation = {
  serverId: SERVER,
  accountNumber: "10000001",
  measuredAt: MEASURED_AT,
  balanceMinor: 10_000_00,
  equityMinor: 9_500_05,
  marginMinor: 1_080_10,
  freeMarginMinor: 8_419_95,
  marginLevel: 879.55,
  unrealizedProfitMinor: -499_95,
  openPositionCount: 1,
  netDepositsMinor: -250_00,
};

it("a valuation in evidence keeps its position in the log, its times and its exact amounts", () => {
  const position = { partition: 3, offset: 1_228, timestampMs: Date.parse("2026-11-26T09:30:40.012Z") };
  expect(toValuationEvidence(VALUATION, position)).toEqual({
    kind: "valuation",
    partition: 3,
    offset: 1_228,
    measuredAt: MEASURED_AT,
    recordedAt: "2026-11-26T09:30:40.012Z",
    balance: "10000.00",
    equity: "9500.05",
    margin: "1080.10",
    freeMargin: "8419.95",
    openPositionCount: 1,
    netDeposits: "-250.00",
  });
  const { netDepositsMinor: _netDepositsMinor, ...silent } = VALUATION;
  expect(toValuationEvidence(silent, position).netDeposits).toBeNull();
});

it("a sample in evidence has the same texts for its values as its last valuation", () => {
  const frame = AccountMetricsFrame.parse({
    type: "account.metrics",
    eventId: "0190a5c0-5555-7aaa-8bbb-cccccccccccc",
    serverId: SERVER,
    accountNumber: "10000001",
    sequence: 512,
    measuredAt: MEASURED_AT,
    balance: 10_000,
    equity: 9_500.05,
    margin: 1_080.1,
    freeMargin: 8_419.95,
    marginLevel: 879.55,
    openPositionCount: 1,
    intervalMinimumEquity: 9_499.5,
    intervalMinimumMeasuredAt: "2026-11-26T09:30:39Z",
  });
  const { kind, partition, offset, recordedAt, netDeposits, ...same } = toValuationEvidence(VALUATION, {
    partition: 3,
    offset: 1_228,
    timestampMs: 0,
  });
  expect({ kind, partition, offset, recordedAt, netDeposits }).toMatchObject({ partition: 3, offset: 1_228 });
  expect(toSampleEvidence(frame, { from: 1_214, to: 1_228 })).toEqual({
    ...same,
    kind: "sample",
    sequence: 512,
    from: 1_214,
    to: 1_228,
    intervalMinimumEquity: "9499.50",
    intervalMinimumMeasuredAt: "2026-11-26T09:30:39Z",
  });
});

it("a rule in evidence has its limit as unit and value, and settings such as `basis` as text parameters", () => {
  const since = "2026-11-20T00:00:00.000Z";
  const daily: RiskRule = {
    id: "daily",
    type: "dailyLoss",
    action: "disable",
    limit: { percent: 4.5 },
    basis: "equity",
    timeZone: "Europe/London",
    dayStart: "17:00",
    warnAt: undefined,
  };
  expect(toEvidenceRule(daily, 4, since)).toEqual({
    id: "daily",
    version: 4,
    type: "dailyLoss",
    action: "disable",
    activeFrom: since,
    limit: { unit: "percent", value: "4.5" },
    parameters: { basis: "equity", timeZone: "Europe/London", dayStart: "17:00" },
  });
  const target: RiskRule = {
    id: "t",
    type: "profitTarget",
    action: "notify",
    target: { amount: 800 },
    basis: "balance",
    startValue: 10_000,
    warnAt: 80,
  };
  expect(toEvidenceRule(target, 1, since)).toMatchObject({
    limit: { unit: "amount", value: "800.00" },
    parameters: { basis: "balance", startValue: "10000", warnAt: "80" },
  });
});
