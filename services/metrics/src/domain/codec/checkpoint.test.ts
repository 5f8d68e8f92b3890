import { SampleCheckpoint } from "@kapi/contracts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { decodeCheckpoint, decodeMarker, encodeCheckpoint, encodeMarker, sequenceOfCheckpoint } from "./checkpoint.ts";

const RUNS = 2_000;

const whole: SampleCheckpoint = {
  sequence: 9,
  to: 90,
  offset: 650,
  window: { sequence: 3, from: 30, offset: 550 },
  frame: '{"type":"account.metrics"}',
};
/** A checkpoint that a release with another encoder wrote: the bytes must not change. */
const RECORDED =
  '{"sequence":9,"to":90,"offset":650,"window":{"sequence":3,"from":30,"offset":550},"frame":"{\\"type\\":\\"account.metrics\\"}"}';

/** `whole` with one value, at any depth, removed, replaced or added. */
const damaged = fc
  .tuple(
    fc.constantFrom("sequence", "to", "offset", "window", "frame"),
    fc.constantFrom(null, "sequence", "from", "offset", "measuredAt"),
    fc.oneof(
      fc.constantFrom(undefined, null, -1, -2, 0, 1, 1.5, 2 ** 53, "", "1", true, [], {}),
      fc.constantFrom("2026-11-21T10:00:00.000Z", "2026-11-21", "2026-13-41T10:00:00.000Z"),
    ),
  )
  .map(([name, inner, value]) => {
    const checkpoint: Record<string, unknown> = structuredClone({ ...whole });
    const part = checkpoint[name];
    if (inner !== null && typeof part === "object") Object.assign(part ?? {}, { [inner]: value });
    else checkpoint[name] = value;
    return checkpoint;
  });

describe("a checkpoint", () => {
  it("encodes to the recorded bytes, and decodes from them", () => {
    expect(encodeCheckpoint(whole)).toBe(RECORDED);
    expect(decodeCheckpoint(RECORDED)).toEqual(whole);
    expect(sequenceOfCheckpoint(RECORDED)).toBe(9);
  });

  it("decodes if and only if it has the contract's shape", () => {
    fc.assert(
      fc.property(damaged, (value) => {
        const text = JSON.stringify(value);
        expect("fault" in decodeCheckpoint(text)).toBe(!SampleCheckpoint.safeParse(JSON.parse(text)).success);
      }),
      { numRuns: RUNS },
    );
    const reasons = ["{", "[]", "null", "7"].map(decodeCheckpoint);
    expect(reasons.map((found) => ("fault" in found ? found.reason : null))).toEqual([
      "not_json",
      "malformed",
      "malformed",
      "malformed",
    ]);
  });
});

describe("a marker", () => {
  it("encodes to the recorded bytes, and decodes from them", () => {
    const marker = { samplesOffset: 700, latestOffset: 50 };
    expect(encodeMarker(marker)).toBe('{"samplesOffset":700,"latestOffset":50}');
    expect(decodeMarker(encodeMarker(marker))).toEqual(marker);
    expect(decodeMarker("{}")).toMatchObject({ reason: "malformed" });
    expect(decodeMarker("{")).toMatchObject({ reason: "not_json" });
  });
});
