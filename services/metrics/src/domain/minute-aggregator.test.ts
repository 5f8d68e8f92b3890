import { describe, expect, it } from "vitest";

import { MinuteAggregator, type AggregatorInput, type ClosedMinute } from "./minute-aggregator.ts";
import type { FrameContent } from "./codec/live-frame.ts";

const account = { serverId: "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01", accountNumber: "10000001" };
const firstMs = Date.parse("2026-03-01T10:00:00.000Z");

function sampleOf(sequence: number, seconds: number, equityMinor = 100_000): [AggregatorInput, FrameContent] {
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
    { values, minimum: { equityMinor, measuredAt } },
  ];
}

function shown(closed: ClosedMinute | null): object | null {
  if (closed === null) return null;
  const { measuredAtMs, sequence, equityMinor } = closed.snapshot;
  return { minute: (measuredAtMs - firstMs) / 60_000, sequence, equityMinor };
}

describe("the snapshots of an account", () => {
  it("are the last sample of each minute in which it changed, returned when the minute is over", () => {
    const aggregator = new MinuteAggregator(account, null);
    expect(aggregator.addSample(...sampleOf(1, 5, 100))).toBeNull();
    expect(aggregator.addSample(...sampleOf(2, 59, 200))).toBeNull();
    expect(shown(aggregator.addSample(...sampleOf(3, 200, 300)))).toEqual({ minute: 0, sequence: 2, equityMinor: 200 });
    expect(aggregator.closeEnded(firstMs + 239_999)).toBeNull();
    expect(shown(aggregator.closeEnded(firstMs + 240_000))).toEqual({ minute: 3, sequence: 3, equityMinor: 300 });
    expect(aggregator.closeEnded(firstMs + 999_999)).toBeNull();
  });

  it("give the offset from which the log must be read again until a minute is stored", () => {
    const aggregator = new MinuteAggregator(account, null);
    aggregator.addSample(...sampleOf(1, 5));
    aggregator.addSample(...sampleOf(2, 6));
    expect(aggregator.openFrom).toBe(10);
    const closed = aggregator.addSample(...sampleOf(3, 65));
    expect(closed?.fromOffset).toBe(10);
    expect(aggregator.openFrom).toBe(30);
  });

  it("skip a sample that cannot be decoded, and continue with the next sample", () => {
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

  it("continue from the stored state: samples that the state includes do not count again", () => {
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
