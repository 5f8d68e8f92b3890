import { TraceFlags } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";

import { samplingOf } from "./sampling.ts";

const REQUESTS = 2_000;

/** A caller's span, whose trace has this random part. */
function spanOf(random: string, traceFlags: TraceFlags) {
  return { traceId: `0af7651916cd43dd8448eb21${random}`, spanId: "b7ad6b7169203331", traceFlags };
}
const LOW = "00000001";
const HIGH = "fffffffe";

/** The decisions: for a trace that begins here, for a recorded parent, for an unrecorded parent. */
function decided(name: string, share?: string): (boolean | "some")[] {
  const sampling = samplingOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share });
  const begun = new Set(Array.from({ length: REQUESTS }, () => sampling(null)));
  return [
    begun.size === 2 ? "some" : begun.has(true),
    sampling(spanOf(HIGH, TraceFlags.SAMPLED)),
    sampling(spanOf(LOW, TraceFlags.NONE)),
  ];
}

describe("the sampler", () => {
  it.each([
    ["", undefined, [true, true, false]],
    ["always_on", undefined, [true, true, true]],
    ["always_off", undefined, [false, false, false]],
    ["parentbased_always_on", undefined, [true, true, false]],
    ["parentbased_always_off", undefined, [false, true, false]],
    ["traceidratio", "0.5", ["some", false, true]],
    ["traceidratio", "0", [false, false, false]],
    ["parentbased_traceidratio", "0.5", ["some", true, false]],
    ["parentbased_traceidratio", "much", [true, true, false]],
    ["no_such_sampler", "0.5", [true, true, false]],
  ])(
    "%j with the share %j decides %j: for a new trace, after a caller that records, after a caller that does not",
    (name, share, expected) => {
      expect(decided(name, share)).toEqual(expected);
    },
  );

  it("with the share 0.25 records about a quarter of the traces", () => {
    const sampling = samplingOf({ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" });
    const begun = Array.from({ length: REQUESTS }, () => sampling(null)).filter(Boolean).length;
    expect(begun / REQUESTS).toBeGreaterThan(0.15);
    expect(begun / REQUESTS).toBeLessThan(0.35);
  });
});
