import { describe, expect, it } from "vitest";

import type { AccountMetricsFrame, EquityPoint } from "../api/shapes.ts";
import { equityRows, type EquityRow, summaryOf } from "./equity-lines.ts";
import { sampleAt } from "../../test/sample.ts";

const START_MS = Date.parse("2026-11-21T12:00:00.000Z");
const MINUTE_MS = 60_000;
const iso = (minutes: number): string => new Date(START_MS + minutes * MINUTE_MS).toISOString();
/** An hour that begins at `START_MS`. */
const HOUR = { startMs: START_MS, endMs: START_MS + 60 * MINUTE_MS };

/** A stored minute. */
function point(minute: number, equity: number, change: Partial<EquityPoint> = {}): EquityPoint {
  const amounts = { equity, balance: 900, lowest: equity, highest: equity, drawdown: { from: equity, to: equity } };
  return { startsAt: iso(minute), endsAt: iso(minute + 1), ...amounts, ...change };
}

function sample(minutes: number, equity: number, lowest = equity): AccountMetricsFrame {
  return { ...sampleAt(START_MS + minutes * MINUTE_MS, equity), intervalMinimumEquity: lowest };
}

const minutesOf = (rows: readonly EquityRow[]) => rows.map(({ atMs }) => (atMs - START_MS) / MINUTE_MS);
const equityOf = (rows: readonly EquityRow[]) => rows.map(({ equity }) => equity);
const at = (rows: readonly EquityRow[], minute: number) =>
  rows.find(({ atMs }) => atMs === START_MS + minute * MINUTE_MS);

describe("the lines of the equity of an account", () => {
  it("are flat at the equity before the range until the first change, and flat after the last change", () => {
    const before = { measuredAt: iso(-100), equity: 1_000, balance: 900 };
    const rows = equityRows({ before, points: [point(20, 1_010), point(21, 1_020)] }, [], HOUR);
    expect(equityOf(rows)).toEqual([1_000, 1_000, 1_000, 1_010, 1_020, 1_020, 1_020]);
    const second = 1 / 60;
    expect(minutesOf(rows)).toEqual([0, second, 20, 21, 22, 22 + second, 60]);
  });

  it("begin with the first stored point if no earlier equity is known", () => {
    const rows = equityRows({ before: null, points: [point(20, 1_010)] }, [], HOUR);
    expect([minutesOf(rows)[0], ...equityOf(rows)]).toEqual([21, 1_010, 1_010, 1_010]);
    expect(equityRows({ before: null, points: [] }, [], HOUR)).toEqual([]);
  });

  it("continue after the last stored minute with the live samples, without the samples inside that minute", () => {
    const points = [point(57, 1_010)];
    const live = [sample(57.5, 999), sample(58.5, 1_020), sample(59, 1_030)];
    const rows = equityRows({ before: null, points }, live, HOUR);
    expect([at(rows, 58)?.equity, at(rows, 58.5)?.equity, at(rows, 59)?.equity]).toEqual([1_010, 1_020, 1_030]);
    expect(equityOf(rows)).not.toContain(999);
    expect(at(rows, 60)?.equity).toBe(1_030);
  });

  it("are not flat before the first live sample, because changes shortly before this sample may not be stored yet", () => {
    const history = { before: null, points: [point(57, 1_010)] };
    expect(minutesOf(equityRows(history, [sample(58.75, 1_020)], HOUR)).slice(0, 2)).toEqual([58, 58.75]);
    const known = equityRows(history, [sample(57.5, 1_010), sample(58.75, 1_020)], HOUR);
    expect(at(known, 58.75 - 1 / 60)?.equity).toBe(1_010);
  });

  it("have only the live samples while the history is not known", () => {
    const rows = equityRows(null, [sample(-300, 980), sample(59, 1_000)], HOUR);
    expect([at(rows, 0)?.equity, at(rows, 59)?.equity, at(rows, 60)?.equity]).toEqual([980, 1_000, 1_000]);
  });

  it("have no row before the range, but begin with the equity of a point before the range", () => {
    const rows = equityRows({ before: null, points: [point(-2, 1_100), point(10, 1_050)] }, [], HOUR);
    expect(minutesOf(rows)[0]).toBe(0);
    expect(at(rows, 0)).toMatchObject({ equity: 1_100, peak: 1_100 });
    expect(at(rows, 11)).toMatchObject({ equity: 1_050, peak: 1_100 });
  });

  it("show the drawdown of a stored point only at this point, and the low of a live sample at this sample", () => {
    const drawdown = { from: 1_100, to: 700 };
    const points = [point(10, 1_050, { lowest: 700, highest: 1_100, drawdown })];
    const rows = equityRows({ before: null, points }, [sample(30, 1_060, 800), sample(31, 1_200)], HOUR);
    expect(at(rows, 11)).toMatchObject({ lowest: 700, peak: 1_100, drawdown });
    expect(at(rows, 11 + 1 / 60)).toMatchObject({ lowest: 1_050, drawdown: { from: 1_100, to: 1_050 } });
    expect(at(rows, 30)).toMatchObject({ lowest: 800, drawdown: { from: 1_100, to: 800 } });
    expect(at(rows, 31)).toMatchObject({ peak: 1_200, drawdown: { from: 1_200, to: 1_200 } });
  });
});

describe("the summary of a range", () => {
  it("has the change, the extremes and the deepest drawdown, also if they lie inside a stored minute", () => {
    const drawdown = { from: 1_100, to: 700 };
    const points = [point(10, 1_000), point(20, 1_050, { lowest: 700, highest: 1_100, drawdown })];
    const rows = equityRows({ before: null, points }, [sample(59, 1_150)], HOUR);
    expect(summaryOf(rows)).toEqual({ change: 150, lowest: 700, highest: 1_150, drawdown });
  });

  it("has no extreme from stored points before the range", () => {
    const high = { equity: 1_000, highest: 1_300, drawdown: { from: 1_300, to: 1_000 } };
    const points = [point(-2, 1_000, high), point(10, 950, { drawdown: { from: 1_300, to: 950 } })];
    const rows = equityRows({ before: null, points }, [sample(59, 940)], HOUR);
    expect(summaryOf(rows)).toEqual({ change: -60, lowest: 940, highest: 1_000, drawdown: { from: 1_000, to: 940 } });
  });

  it("is null without a known equity", () => {
    expect(summaryOf(equityRows({ before: null, points: [] }, [], HOUR))).toBeNull();
  });
});
