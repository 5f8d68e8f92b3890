import { describe, expect, it } from "vitest";

import type { AccountMetricsFrame } from "../api/shapes.ts";
import { amountsShown, keptWith, linesOf, MAX_SAMPLES, NO_SAMPLES } from "./samples.ts";

const AT_MS = Date.parse("2026-11-21T12:00:00.000Z");

function sample(sequence: number, equity = 1_000): AccountMetricsFrame {
  const measuredAt = new Date(AT_MS + sequence * 1_000).toISOString();
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

describe("the samples of a chart", () => {
  it("appear once each, also if a reopened stream starts with a known sample", () => {
    const samples = [1, 2, 2, 1, 3].reduce(
      (before, sequence) => keptWith(before, sample(sequence), sequence),
      NO_SAMPLES,
    );
    expect(samples.list.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(samples.cameMs).toBe(3);
  });

  it("are limited in number, and the newest ones are kept", () => {
    let samples = NO_SAMPLES;
    for (let sequence = 1; sequence <= MAX_SAMPLES + 5; sequence += 1) samples = keptWith(samples, sample(sequence), 0);
    expect(samples.list).toHaveLength(MAX_SAMPLES);
    expect(samples.list.at(-1)?.sequence).toBe(MAX_SAMPLES + 5);
  });

  it("draw lines that continue unchanged until now, counted from the arrival of the newest sample", () => {
    const came = 5_000_000;
    const samples = keptWith(keptWith(NO_SAMPLES, sample(1), 0), sample(2, 1_010), came);
    const [times, equity, balance] = linesOf(samples, came + 3_000);
    expect(times.map((time) => time - AT_MS / 1_000)).toEqual([1, 2, 5]);
    expect(equity).toEqual([1_000, 1_010, 1_010]);
    expect(balance).toEqual([900, 900, 900]);
    expect(linesOf(NO_SAMPLES, came)).toEqual([[], [], []]);
  });

  it("leave some space above and below, also for flat lines", () => {
    expect(amountsShown(100, 200)).toEqual([92, 208]);
    expect(amountsShown(2_000, 2_000)).toEqual([1_999, 2_001]);
    expect(amountsShown(0, 0)).toEqual([-0.05, 0.05]);
  });
});
