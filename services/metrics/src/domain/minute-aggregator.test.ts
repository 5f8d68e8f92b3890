import { describe, expect, it } from "vitest";

import { MinuteAggregator, type AggregatorInput, type ClosedMinute } from "./minute-aggregator.ts";
import type { FrameContent } from "./codec/live-frame.ts";

const account = { serverId: "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01", accountNumber: "10000001" };
const firstMs = Date.parse("2026-03-01T10:00:00.000Z");

function sampleOf(
  sequence: number,
  seconds: number,
  equityMinor = 100_000,
  minimumMinor = equityMinor,
): [AggregatorInput, FrameContent] {
  const range = { sequence, from: sequence - 2, to: sequence - 1 };
  const measuredAtMs = firstMs + seconds * 1_000;
  const measuredAt = new Date(measuredAtMs).toISOString();
  const values = {
    measuredAt,
    measuredAtMs,
    balanceMinor: 100_000,
    equityMinor,
    marginMinor: 0,
    freeMarginMinor: equityMinor,
    marginLevel: 0,
    openPositionCount: 0,
  };
  return [
    { range, frameBytes: 400, offset: sequence * 10 },
    { values, minimum: { equityMinor: minimumMinor, measuredAt } },
  ];
}

function shown(closed: ClosedMinute | null): object | null {
  if (closed === null) return null;
  const { measuredAtMs, sequence, equityMinor } = closed.snapshot;
  return { minute: (measuredAtMs - firstMs) / 60_000, sequence, equityMinor };
}

describe("the snapshots of an account", () => {
  it("are the last sample of each minute in which the account changed, returned when the minute is over", () => {
    const aggregator = new MinuteAggregator(account, null);
    expect(aggregator.addSample(...sampleOf(1, 5, 100))).toBeNull();
    expect(aggregator.addSample(...sampleOf(2, 59, 200))).toBeNull();
    expect(shown(aggregator.addSample(...sampleOf(3, 200, 300)))).toEqual({ minute: 0, sequence: 2, equityMinor: 200 });
    expect(aggregator.closeEnded(firstMs + 239_999)).toBeNull();
    expect(shown(aggregator.closeEnded(firstMs + 240_000))).toEqual({ minute: 3, sequence: 3, equityMinor: 300 });
    expect(aggregator.closeEnded(firstMs + 999_999)).toBeNull();
  });

  it("have the lowest equity of the minute, also between samples, and the highest equity of its samples", () => {
    const aggregator = new MinuteAggregator(account, null);
    aggregator.addSample(...sampleOf(1, 5, 100));
    aggregator.addSample(...sampleOf(2, 20, 300, 90));
    aggregator.addSample(...sampleOf(3, 30, 200));
    const first = aggregator.addSample(...sampleOf(4, 61, 210))?.snapshot;
    expect(first).toMatchObject({ equityMinor: 200, lowestEquityMinor: 90, highestEquityMinor: 300 });
    const second = aggregator.closeEnded(Number.MAX_SAFE_INTEGER)?.snapshot;
    expect(second).toMatchObject({ equityMinor: 210, lowestEquityMinor: 210, highestEquityMinor: 210 });
  });
});

describe("the aggregator of an account", () => {
  it("returns an ended hour together with the first closed minute of a later hour", () => {
    const aggregator = new MinuteAggregator(account, null);
    const samples = [sampleOf(1, 5, 100), sampleOf(2, 65, 300, 90), sampleOf(3, 125, 120), sampleOf(4, 3_605, 200)];
    const closed = [...samples, sampleOf(5, 3_665, 210)].map((sample) => aggregator.addSample(...sample));
    const amounts = { equityMinor: 120, balanceMinor: 100_000, lowestEquityMinor: 90, highestEquityMinor: 300 };
    const drawdown = { drawdownMinor: 180, drawdownFromMinor: 300 };
    const hour = { firstMs, lastMs: firstMs + 120_000, ...amounts, ...drawdown };
    expect(closed.map((minute) => minute?.endedHour)).toEqual([undefined, null, null, null, hour]);
  });

  it("returns `unknown` as the ended hour if another process may have stored minutes of that hour", () => {
    const former = new MinuteAggregator(account, null);
    former.addSample(...sampleOf(1, 5));
    const aggregator = new MinuteAggregator(account, former.closeEnded(Number.MAX_SAFE_INTEGER)?.state ?? null);
    const times = [65, 3_605, 7_205, 7_265];
    const closed = times.map((seconds, index) => aggregator.addSample(...sampleOf(index + 2, seconds)));
    const hours = closed.map((minute) => minute?.endedHour);
    expect(hours).toEqual([undefined, "unknown", "unknown", expect.objectContaining({ firstMs: firstMs + 3_600_000 })]);
  });

  it("counts the lowest equity of a late sample in the next minute, because the sample's own minute is closed", () => {
    const aggregator = new MinuteAggregator(account, null);
    aggregator.addSample(...sampleOf(1, 5, 100));
    aggregator.closeEnded(firstMs + 60_000);
    aggregator.addSample(...sampleOf(2, 59, 40));
    aggregator.addSample(...sampleOf(3, 65, 120));
    const next = aggregator.closeEnded(Number.MAX_SAFE_INTEGER)?.snapshot;
    expect(next).toMatchObject({ equityMinor: 120, lowestEquityMinor: 40, highestEquityMinor: 120 });
  });

  it("returns the offset of the first sample of the open minute: a restart reads the log from there", () => {
    const aggregator = new MinuteAggregator(account, null);
    aggregator.addSample(...sampleOf(1, 5));
    aggregator.addSample(...sampleOf(2, 6));
    expect(aggregator.openFrom).toBe(10);
    const closed = aggregator.addSample(...sampleOf(3, 65));
    expect(closed?.fromOffset).toBe(10);
    expect(aggregator.openFrom).toBe(30);
  });

  it("skips a sample that cannot be decoded, and continues with the next sample", () => {
    const aggregator = new MinuteAggregator(account, null);
    aggregator.skipSample(sampleOf(1, 5)[0]);
    expect([aggregator.sequence, aggregator.openFrom]).toEqual([1, null]);
    aggregator.addSample(...sampleOf(2, 6));
    expect(shown(aggregator.closeEnded(Number.MAX_SAFE_INTEGER))).toEqual({
      minute: 0,
      sequence: 2,
      equityMinor: 100_000,
    });
  });

  it("continues from the stored state: samples that the state includes do not count again", () => {
    const first = new MinuteAggregator(account, null);
    first.addSample(...sampleOf(1, 5, 1_000));
    const closed = first.addSample(...sampleOf(2, 65, 900));
    const second = new MinuteAggregator(account, closed?.state ?? null);
    expect(second.isNext(sampleOf(1, 5)[0])).toBe(false);
    expect(second.isNext(sampleOf(3, 66)[0])).toBe(false);
    expect(second.isNext(sampleOf(2, 65)[0])).toBe(true);
    second.addSample(...sampleOf(2, 65, 900));
    expect(second.closeEnded(Number.MAX_SAFE_INTEGER)?.snapshot).toMatchObject({
      dailyDrawdown: 10,
      totalDrawdown: 10,
    });
  });
});
