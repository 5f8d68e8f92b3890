import type { SampleCheckpoint } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { type RestoredPartition, readStart, startingPoint } from "./restore.ts";

function checkpoint(offset: number, windowOffset: number): SampleCheckpoint {
  const window = { sequence: 3, from: 30, offset: windowOffset };
  return { sequence: 9, to: 90, offset, window, frame: "{}" };
}

function records(marker: number | null, ...accounts: [checkpoint: SampleCheckpoint, at: number][]): RestoredPartition {
  return {
    marker: marker === null ? null : { value: { samplesOffset: marker, latestOffset: 90 }, at: 100 },
    accounts: new Map(accounts.map(([value, at], index) => [`account ${index}`, { value, at }])),
  };
}

describe("the offset from which samples are read after a restart", () => {
  it("is the beginning without a marker", () => {
    expect(readStart(records(null, [checkpoint(500, 400), 50]), 600)).toBe(0);
  });

  it("is the marker, or the start of the replay window if that is earlier", () => {
    expect(readStart(records(500), 600)).toBe(500);
    expect(readStart(records(700), 600)).toBe(600);
  });

  it("is the window start of a recently active account, so that its whole window is restored", () => {
    expect(readStart(records(700, [checkpoint(650, 550), 50]), 600)).toBe(550);
    expect(readStart(records(700, [checkpoint(599, 100), 50]), 600)).toBe(600);
  });

  it("is the window start of a stale checkpoint from a writer that had lost the partition", () => {
    expect(readStart(records(700, [checkpoint(200, 150), 101]), 600)).toBe(150);
    // The checkpoint's record is at the marker's `latestOffset`, before the marker's own record.
    expect(readStart(records(700, [checkpoint(200, 150), 90]), 600)).toBe(150);
    // This record is before `latestOffset`. The marker's writer had read `metrics.latest` up to
    // there, and would have replaced a stale checkpoint.
    expect(readStart(records(700, [checkpoint(200, 150), 89]), 600)).toBe(600);
  });
});

describe("the starting point of an account", () => {
  it("is before the first sample of its window if the log is read from that sample on", () => {
    expect(startingPoint(checkpoint(650, 550), 550, 0)).toEqual({
      state: { sequence: 2, to: 30 },
      acceptFrom: 550,
      restoreFrame: false,
      keepsWindowStart: false,
    });
  });

  it("is after its checkpoint's sample if the log is read from an offset after the window start; new checkpoints keep a recent window start", () => {
    const point = { state: { sequence: 9, to: 90 }, acceptFrom: 651, restoreFrame: true };
    // The third argument is the oldest window start that new checkpoints keep.
    expect(startingPoint(checkpoint(650, 550), 551, 551)).toEqual({ ...point, keepsWindowStart: false });
    expect(startingPoint(checkpoint(650, 550), 900, 550)).toEqual({ ...point, keepsWindowStart: true });
  });
});
