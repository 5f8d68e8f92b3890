import { describe, expect, it } from "vitest";

import { sampleAt } from "../../test/sample.ts";
import { amountsShown, keptWith, MAX_SAMPLES, NO_SAMPLES } from "./samples.ts";

const AT_MS = Date.parse("2026-11-21T12:00:00.000Z");

function sample(sequence: number) {
  return sampleAt(AT_MS + sequence * 1_000, 1_000, sequence);
}

describe("the samples of a chart", () => {
  it("appear once each, also if a reopened stream starts with a known sample", () => {
    const samples = [1, 2, 2, 1, 3].reduce((before, sequence) => keptWith(before, sample(sequence)), NO_SAMPLES);
    expect(samples.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  it("are limited in number, and the newest ones are kept", () => {
    let samples = NO_SAMPLES;
    for (let sequence = 1; sequence <= MAX_SAMPLES + 5; sequence += 1) samples = keptWith(samples, sample(sequence));
    expect(samples).toHaveLength(MAX_SAMPLES);
    expect(samples.at(-1)?.sequence).toBe(MAX_SAMPLES + 5);
  });

  it("have some space above and below their lines, even if a line is flat", () => {
    expect(amountsShown(100, 200)).toEqual([92, 208]);
    expect(amountsShown(2_000, 2_000)).toEqual([1_999, 2_001]);
    expect(amountsShown(0, 0)).toEqual([-0.05, 0.05]);
  });
});
