import { type AccountMetricsFrame, OFFSETS_PER_GENERATION, type RiskBreach } from "@kapi/contracts";
import { moneyText } from "@kapi/evidence";
import { toIso } from "@kapi/kernel";
import { describe, expect, it } from "vitest";

import {
  type AccountRecords,
  type ChosenRecords,
  chooseRecords,
  claimOf,
  extremeOf,
  hasAllSamples,
  type LoggedSample,
  type LoggedValuation,
  sequenceOf,
  type UnprovenBreach,
} from "./evidence.ts";

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

/** The sample of the valuations with the indexes after `from`, up to `to`. */
function sample(sequence: number, from: number, to: number): LoggedSample {
  const { measuredAt } = logged(to).evidence;
  const frame: AccountMetricsFrame = {
    type: "account.metrics",
    eventId: "e",
    serverId: "s",
    accountNumber: "n",
    sequence,
    measuredAt,
    balance: 10_000,
    equity: 10_000,
    margin: 0,
    freeMargin: 10_000,
    marginLevel: 0,
    openPositionCount: 1,
    intervalMinimumEquity: 10_000,
    intervalMinimumMeasuredAt: measuredAt,
  };
  return { frame, range: { sequence, from: from === -1 ? -1 : 10 * from, to: 10 * to } };
}

/** The sample with positions in the recreated topic. It begins after the position `from`. */
function recreated({ frame, range }: LoggedSample, from = OFFSETS_PER_GENERATION + range.from): LoggedSample {
  return { frame, range: { ...range, from, to: OFFSETS_PER_GENERATION + range.to } };
}

const rangesOf = ({ samples }: ChosenRecords): readonly LoggedSample["range"][] =>
  samples.map(({ sequence, from, to }) => ({ sequence, from, to }));

function records(more: Partial<AccountRecords>): AccountRecords {
  return { valuations: [], samples: [], isCut: { valuations: false, samples: false }, isFull: false, ...more };
}

const range = (from: number, to: number, around: number | null = null) => ({
  fromMs: START_MS + from * 1_000,
  toMs: START_MS + to * 1_000,
  around,
  isOfDeletedTopic: false,
});

const VALUATIONS = Array.from({ length: 12 }, (_, index) => logged(index));

describe("the records of evidence", () => {
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
      const chosen = chooseRecords(records({ valuations: VALUATIONS, samples }), range(0, 8, 40));
      expect(rangesOf(chosen)).toEqual(valid.map((one) => one.range));
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

  it("are the valuations around the breach if there are too many valuations", () => {
    const many = Array.from({ length: 30_000 }, (_, index) => logged(index, 10_000_00, index / 1_000));
    const { valuations, missing } = chooseRecords(records({ valuations: many }), range(0, 30, 200_000));
    expect(valuations).toHaveLength(15_000);
    expect(valuations[7_500]?.evidence.offset).toBe(200_000);
    expect(missing.filter(({ reason }) => reason === "limit")).toHaveLength(2);
  });
});

describe("the samples after the topic of the valuations was recreated", () => {
  // The account's last sample of the deleted topic was measured before the first valuation.
  const former = [sample(5, 300, 320), sample(6, 320, 350)].map(({ frame, range }, index) => ({
    frame: { ...frame, measuredAt: at(index - 10) },
    range,
  }));
  const samples = [...former, recreated(sample(7, 350, 5), 3_500), recreated(sample(8, 5, 11))];
  const unavailable = (what: "valuations" | "samples", to: string | null) => ({
    what,
    reason: "unavailable",
    from: null,
    to,
  });

  it("have ranges of offsets in the new topic; the first range begins after -1", () => {
    const chosen = chooseRecords(records({ valuations: VALUATIONS, samples }), range(0, 11, 30));
    expect(rangesOf(chosen)).toEqual([
      { sequence: 7, from: -1, to: 50 },
      { sequence: 8, from: 50, to: 110 },
    ]);
    expect(chosen.missing).toEqual([]);
    expect(sequenceOf(UNPROVEN, chosen.samples)).toBe(7);
  });

  it("are not complete before they include the last valuation", () => {
    const chosen = chooseRecords(records({ valuations: VALUATIONS, samples: samples.slice(0, 3) }), range(0, 11));
    expect(hasAllSamples(chosen)).toBe(false);
    expect(chosen.missing).toEqual([{ what: "samples", reason: "unavailable", from: at(5), to: null }]);
  });

  it("leave out samples of the deleted topic, even if the new topic has no samples yet", () => {
    for (const to of [0, 3, 350]) {
      const [before] = former;
      if (before === undefined) throw new TypeError("there is no former sample");
      const old = { ...before, range: { sequence: 5, from: -1, to: 10 * to } };
      const chosen = chooseRecords(records({ valuations: VALUATIONS, samples: [old] }), range(0, 11));
      expect(chosen.samples).toEqual([]);
      expect(hasAllSamples(chosen)).toBe(false);
    }
  });

  it("are those of the new topic if an interval has samples of both topics; the missing parts are named", () => {
    const both = chooseRecords(records({ valuations: VALUATIONS, samples }), range(-20, 11));
    expect(both.samples.map(({ sequence }) => sequence)).toEqual([7, 8]);
    expect(both.missing).toEqual([unavailable("valuations", at(0)), unavailable("samples", at(5))]);
    const older = chooseRecords(records({ samples }), range(-20, 11));
    expect(older.samples.map(({ sequence }) => sequence)).toEqual([7, 8]);
    expect(older.missing).toEqual([unavailable("valuations", null), unavailable("samples", at(5))]);
  });

  it("are those of the deleted topic if the topic was recreated after the interval", () => {
    const chosen = chooseRecords(records({ valuations: VALUATIONS, samples }), range(-20, -5));
    expect(rangesOf(chosen)).toEqual(former.map((one) => one.range));
    expect(chosen.missing).toEqual([unavailable("valuations", null)]);
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
  isOfDeletedTopic: false,
};

describe("the extreme value since a breach", () => {
  it("is the lowest equity, without repeated valuations: they were measured earlier than a valuation before them in the log", () => {
    const valuations = [
      logged(1, 9_000_00),
      logged(3, 9_500_00),
      logged(4, 9_400_00),
      logged(5, 9_300_00, 1),
      logged(6, 9_450_00),
    ];
    expect(extremeOf(UNPROVEN, valuations)).toEqual({ valueMinor: 9_400_00, at: at(4) });
  });

  it("is the breaching value if there is no valuation since", () => {
    expect(extremeOf(UNPROVEN, [])).toEqual({ valueMinor: 9_500_00, at: at(3) });
  });

  it("is the highest value for a profit target", () => {
    const rule = { ...BREACH.rule, type: "profitTarget", basis: "equity", target: { percent: 8 } };
    const profit = { ...UNPROVEN, valueMinor: 10_800_00, breach: { ...BREACH, rule } as RiskBreach };
    const valuations = [logged(3, 10_800_00), logged(4, 10_950_00), logged(5, 10_700_00)];
    expect(extremeOf(profit, valuations)).toEqual({ valueMinor: 10_950_00, at: at(4) });
  });
});

it("evidence says that a rule was active from the latest valuation before the offset of its activation; without such a valuation, from the seed", () => {
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
