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

describe("where the samples are read from after a restart", () => {
  it("is the beginning when no marker tells what the checkpoints hold", () => {
    expect(readStart(records(null, [checkpoint(500, 400), 50]), 600)).toBe(0);
  });

  it("is the marker, or the beginning of the replay window if that is earlier", () => {
    expect(readStart(records(500), 600)).toBe(500);
    expect(readStart(records(700), 600)).toBe(600);
  });

  it("goes back to the first sample that a lately active account held, so that its window comes back whole", () => {
    expect(readStart(records(700, [checkpoint(650, 550), 50]), 600)).toBe(550);
    expect(readStart(records(700, [checkpoint(599, 100), 50]), 600)).toBe(600);
  });

  it("goes back to a checkpoint that a writer left which had lost the partition", () => {
    expect(readStart(records(700, [checkpoint(200, 150), 101]), 600)).toBe(150);
    // Also one that came in while the marker's writer was at work, before the marker.
    expect(readStart(records(700, [checkpoint(200, 150), 90]), 600)).toBe(150);
    // What was there before the writer had read back, and would have written over.
    expect(readStart(records(700, [checkpoint(200, 150), 89]), 600)).toBe(600);
  });
});

describe("how an account is taken up", () => {
  it("is judged forward from the first sample of its window when that is read", () => {
    expect(startingPoint(checkpoint(650, 550), 550)).toEqual({
      state: { sequence: 2, to: 30 },
      acceptFrom: 550,
      takeFrame: false,
    });
  });

  it("begins behind its checkpoint's sample, which is its newest one, when its window is not read whole", () => {
    const taken = { state: { sequence: 9, to: 90 }, acceptFrom: 651, takeFrame: true };
    expect(startingPoint(checkpoint(650, 550), 551)).toEqual(taken);
    expect(startingPoint(checkpoint(650, 550), 900)).toEqual(taken);
  });
});
