import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import type { BreachEvidence } from "../api/shapes.ts";
import { evidenceLines } from "./evidence-lines.ts";

const DOCUMENT = JSON.parse(
  readFileSync(new URL("../../../../../docs/examples/evidence/breach.json", import.meta.url), "utf8"),
) as BreachEvidence;
const START_S = Date.parse("2026-11-26T09:30:00.000Z") / 1_000;

/** The document with other valuations, the breach last. `second` counts from START_S. */
function withValuations(...given: [second: number, equity: string, netDeposits: string | null][]): BreachEvidence {
  const [first] = DOCUMENT.records;
  if (first?.kind !== "valuation") throw new Error("the first record of the document is not a valuation");
  const records = given.map(([second, equity, netDeposits], index) => ({
    ...first,
    offset: index,
    measuredAt: new Date((START_S + second) * 1_000).toISOString(),
    equity,
    netDeposits,
  }));
  return { ...DOCUMENT, records, breach: { ...DOCUMENT.breach, valuationIndex: given.length - 1 } };
}

describe("the chart of evidence", () => {
  it("has every valuation, the threshold, the reference value, the breach and the lowest value", () => {
    const lines = evidenceLines(DOCUMENT);
    expect(lines.times.map((timeS) => timeS - START_S)).toEqual([-20, 0, 10, 20, 30, 40, 50, 60, 100]);
    expect(lines.values).toEqual([null, 9_812.4, 9_703.15, 9_640, 9_503.75, 9_500, 9_431.2, 9_466.9, null]);
    expect(new Set(lines.thresholds)).toEqual(new Set([9_500]));
    expect(new Set(lines.references)).toEqual(new Set([10_000]));
    expect(lines.breach).toEqual({ timeS: START_S + 40, value: 9_500 });
    expect(lines.extreme).toEqual({ timeS: START_S + 50, value: 9_431.2 });
    expect(lines.isReferenceShown).toBe(true);
    expect(lines.amounts[0]).toBeLessThan(9_431.2);
    expect(lines.amounts[1]).toBeGreaterThan(10_000);
  });

  it("moves threshold and reference with the net deposits, and moves neither if the net deposits are unknown", () => {
    const lines = evidenceLines(
      withValuations([0, "10100.00", "0.00"], [5, "9600.00", "-500.00"], [9, "9500.00", "-500.00"]),
    );
    expect(lines.thresholds).toEqual([10_000, 10_000, 9_500, 9_500, 9_500]);
    expect(lines.references).toEqual([10_500, 10_500, 10_000, 10_000, 10_000]);
    const unknown = evidenceLines(withValuations([0, "9600.00", null], [9, "9000.00", null]));
    expect(new Set(unknown.thresholds)).toEqual(new Set([9_500]));
    expect(new Set(unknown.references)).toEqual(new Set([10_000]));
  });

  it("leaves out a valuation that is older than the valuation before it", () => {
    const lines = evidenceLines(withValuations([0, "9600.00", "0.00"], [9, "9500.00", "0.00"], [4, "9700.00", "0.00"]));
    expect(lines.values).toEqual([null, 9_600, 9_500, null]);
  });

  it("leaves out a reference that would make the other lines flat", () => {
    const far = { ...DOCUMENT.breach, reference: { ...DOCUMENT.breach.reference, value: "100000.00" } };
    const lines = evidenceLines({ ...DOCUMENT, breach: far });
    expect(lines.isReferenceShown).toBe(false);
    expect(lines.amounts[1]).toBeLessThan(10_000);
  });

  it("has the threshold, and a range that includes the lowest value, if the document has no valuation", () => {
    const lines = evidenceLines({ ...DOCUMENT, records: [], breach: { ...DOCUMENT.breach, valuationIndex: null } });
    expect(lines.values).toEqual([null, null]);
    expect(lines.thresholds).toEqual([9_500, 9_500]);
    expect(lines.amounts[0]).toBeLessThan(9_431.2);
  });
});
