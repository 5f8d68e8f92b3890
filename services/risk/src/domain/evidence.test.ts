import type { EvidenceRecord, RiskBreach } from "@kapi/contracts";
import { moneyText } from "@kapi/evidence";
import { toIso } from "@kapi/kernel";
import { describe, expect, it } from "vitest";

import {
  type AccountRecords,
  chooseRecords,
  claimOf,
  extremeOf,
  hasAllSamples,
  type LoggedValuation,
  type UnprovenBreach,
} from "./evidence.ts";

type Sample = Extract<EvidenceRecord, { kind: "sample" }>;

const START_MS = Date.parse("2026-11-26T09:30:00.000Z");
const at = (seconds: number): string => toIso(START_MS + seconds * 1_000);

/** A valuation at offset `10 * index`, measured `measured` seconds after the start. */
function logged(index: number, equityMinor = 10_000_00, measured = index): LoggedValuation {
  const measuredAtMs = START_MS + measured * 1_000;
  return {
    measuredAtMs,
    equityMinor,
    balanceMinor: 10_000_00,
    evidence: {
      kind: "valuation",
      partition: 1,
      offset: 10 * index,
      measuredAt: toIso(measuredAtMs),
      recordedAt: toIso(measuredAtMs),
      balance: "10000.00",
      equity: moneyText(equityMinor),
      margin: "0.00",
      freeMargin: moneyText(equityMinor),
      openPositionCount: 1,
      netDeposits: "0.00",
    },
  };
}

function sample(sequence: number, from: number, to: number): Sample {
  const { kind: _kind, partition: _p, offset: _o, recordedAt: _r, netDeposits: _n, ...values } = logged(to).evidence;
  return {
    ...values,
    kind: "sample",
    sequence,
    from: 10 * from,
    to: 10 * to,
    intervalMinimumEquity: values.equity,
    intervalMinimumMeasuredAt: values.measuredAt,
  };
}

function records(more: Partial<AccountRecords>): AccountRecords {
  return { valuations: [], samples: [], isCut: { valuations: false, samples: false }, isFull: false, ...more };
}

const range = (from: number, to: number, around: number | null = null) => ({
  fromMs: START_MS + from * 1_000,
  toMs: START_MS + to * 1_000,
  around,
});

const VALUATIONS = Array.from({ length: 12 }, (_, index) => logged(index));

describe("the records of a document", () => {
  it("are the valuations that were measured in the interval, both ends included, and their samples", () => {
    const samples = [sample(1, -1, 2), sample(2, 2, 5), sample(3, 5, 8), sample(4, 8, 11)];
    const chosen = chooseRecords(records({ valuations: VALUATIONS, samples }), range(2, 7));
    expect(chosen.valuations.map(({ evidence }) => evidence.offset)).toEqual([20, 30, 40, 50, 60, 70]);
    expect(chosen.samples.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(chosen.missing).toEqual([]);
    expect(hasAllSamples(chosen)).toBe(true);
  });

  it("leave out samples of a writer that lost the partition, wherever they are in the log", () => {
    const stale = [sample(2, 1, 3), sample(7, 2, 4), sample(3, 4, 6)];
    const valid = [sample(1, -1, 2), sample(2, 2, 5), sample(3, 5, 8)];
    for (const mixed of [
      [...stale, ...valid],
      [valid[0], stale[0], valid[1], stale[1], stale[2], valid[2]],
      [...valid, ...stale],
      [...valid, ...valid],
      [...Array.from({ length: 5 }, (_, index) => sample(20 + index, 5 + index, 6 + index)), ...valid],
    ]) {
      const samples = mixed.flatMap((one) => (one === undefined ? [] : [one]));
      const { samples: chosen } = chooseRecords(records({ valuations: VALUATIONS, samples }), range(0, 8, 40));
      expect(chosen).toEqual(valid);
    }
  });

  it("name the missing parts: deleted valuations and samples, and late samples", () => {
    const some = VALUATIONS.slice(4);
    const cut = records({ valuations: some, isCut: { valuations: true, samples: true }, samples: [sample(2, 3, 8)] });
    const { missing } = chooseRecords(cut, range(0, 11));
    expect(missing).toEqual([
      { what: "valuations", reason: "expired", from: null, to: at(4) },
      { what: "samples", reason: "expired", from: null, to: at(8) },
      { what: "samples", reason: "unavailable", from: at(8), to: null },
    ]);
    expect(hasAllSamples(chooseRecords(cut, range(0, 11)))).toBe(false);
  });

  it("say that samples at the beginning are missing", () => {
    const late = records({ valuations: VALUATIONS, samples: [sample(4, 5, 8), sample(5, 8, 11)] });
    const expected = [{ what: "samples", reason: "unavailable", from: null, to: at(8) }];
    expect(chooseRecords(late, range(0, 11)).missing).toEqual(expected);
  });

  it("are those around the breach if there are too many", () => {
    const many = Array.from({ length: 30_000 }, (_, index) => logged(index, 10_000_00, index / 1_000));
    const { valuations, missing } = chooseRecords(records({ valuations: many }), range(0, 30, 200_000));
    expect(valuations).toHaveLength(15_000);
    expect(valuations[7_500]?.evidence.offset).toBe(200_000);
    expect(missing.filter(({ reason }) => reason === "limit")).toHaveLength(2);
  });
});

const BREACH = {
  rule: { id: "daily", type: "dailyLoss", limit: { percent: 5 }, basis: "equity", action: "notify" },
  ruleVersion: 2,
  period: "2026-11-26",
  action: "notify",
} as RiskBreach;
const UNPROVEN: UnprovenBreach = {
  breach: BREACH,
  organizationId: "o",
  partition: 1,
  currency: "USD",
  referenceMinor: 10_000_00,
  baseMinor: 10_000_00,
  referenceAtMs: null,
  thresholdMinor: 9_500_00,
  valueMinor: 9_500_00,
  measuredAtMs: START_MS + 3_000,
  ruleActiveFromMs: START_MS - 500,
  ruleActiveFromOffset: 0,
  valuationOffset: 30,
};

describe("the extreme value since a breach", () => {
  it("is the lowest equity of all valuations but repeated ones", () => {
    const valuations = [
      logged(1, 9_000_00),
      logged(3, 9_500_00),
      logged(4, 9_400_00),
      logged(5, 9_300_00, 1),
      logged(6, 9_450_00),
    ];
    expect(extremeOf(UNPROVEN, valuations)).toEqual({ valueMinor: 9_400_00, at: at(4) });
  });

  it("is the breaching value if no valuation is left", () => {
    expect(extremeOf(UNPROVEN, [])).toEqual({ valueMinor: 9_500_00, at: at(3) });
  });

  it("is the highest value for a profit target", () => {
    const rule = { ...BREACH.rule, type: "profitTarget", basis: "equity", target: { percent: 8 } };
    const profit = { ...UNPROVEN, valueMinor: 10_800_00, breach: { ...BREACH, rule } as RiskBreach };
    const valuations = [logged(3, 10_800_00), logged(4, 10_950_00), logged(5, 10_700_00)];
    expect(extremeOf(profit, valuations)).toEqual({ valueMinor: 10_950_00, at: at(4) });
  });
});

it("evidence says that a rule was active from the last valuation before its offset, or else from the seed", () => {
  const valuations = [logged(0), logged(1, 9_000_00), logged(2), logged(3, 9_500_00)];
  const activeFrom = (ruleActiveFromOffset: number | null): string => {
    const chosen = chooseRecords(records({ valuations }), range(0, 9));
    const unproven = { ...UNPROVEN, ruleActiveFromOffset };
    return claimOf(unproven, chosen, [], extremeOf(unproven, valuations), at(90)).rule.activeFrom;
  };
  expect(activeFrom(20)).toBe(at(1));
  expect(activeFrom(0)).toBe(at(-0.5));
  expect(activeFrom(null)).toBe(at(-0.5));
});
