/** Evidence that is signed, but does not show what it claims. */
import { verifyEvidence } from "@kapi/client";
import type { EvidenceRecord } from "@kapi/contracts";
import { buildEvidence, type EvidenceClaim } from "@kapi/evidence";
import { describe, expect, it } from "vitest";

import { breachClaim, KEYS, RECORDS, SIGNER, valuation } from "./documents.ts";

/** The `where` of each contradiction that the client finds in signed evidence. */
function contradictionsIn(claim: EvidenceClaim, records: readonly EvidenceRecord[] = RECORDS): string[] {
  const result = verifyEvidence(buildEvidence(claim, records, SIGNER), KEYS);
  if (result.status === "invalid") throw new Error(result.problem.code);
  return result.status === "verified" ? [] : result.contradictions.map(({ where }) => where);
}

/** The records, with some fields of one of them replaced. */
function withRecord(index: number, more: Partial<EvidenceRecord>): EvidenceRecord[] {
  return RECORDS.map((record, each) => (each === index ? ({ ...record, ...more } as EvidenceRecord) : record));
}

const LATER = "2026-11-26T09:30:50.000Z";
const RULE = breachClaim().rule;

describe("a claim", () => {
  it("holds for the records that show it", () => {
    expect(contradictionsIn(breachClaim())).toEqual([]);
  });

  it.each([
    [
      "its lowest equity is the minimum of the valuations since the breach",
      { extremeValue: "9466.90" },
      ["breach.extremeValue"],
    ],
    [
      "the lowest equity was measured when the claim says",
      { extremeAt: "2026-11-26T09:30:40.000Z" },
      ["breach.extremeAt"],
    ],
    ["the value is that of the valuation", { value: "9499.00" }, ["breach.value"]],
    ["the value reaches the threshold", { value: "9500.01" }, ["breach.value", "breach.value"]],
    ["the time is that of the valuation", { at: LATER }, ["breach.at"]],
    [
      "the valuation is the first at or below the threshold",
      { valuationIndex: 5, value: "9431.20", at: LATER, sequence: 513 },
      ["breach.valuationIndex"],
    ],
    ["the index is that of a valuation", { valuationIndex: 8 }, ["breach.valuationIndex"]],
    ["the threshold follows from the limit and the reference", { threshold: "9500.01" }, ["breach.threshold"]],
    ["the sample includes the valuation", { sequence: 513 }, ["breach.sequence"]],
  ])("is contradicted unless %s", (_title, breach, places) => {
    expect(contradictionsIn(breachClaim(breach))).toEqual(places);
  });

  it("that does not hold gives a result that describes the contradiction", () => {
    const result = verifyEvidence(buildEvidence(breachClaim({ extremeValue: "9466.90" }), RECORDS, SIGNER), KEYS);
    expect(result).toMatchObject({
      status: "contradictory",
      contradictions: [{ where: "breach.extremeValue", message: "is 9466.90, but the valuations reach 9431.20" }],
    });
  });

  it("is checked with a limit in percent that is rounded up to whole cents, or with a limit as an amount", () => {
    const percent = { ...RULE, limit: { unit: "percent" as const, value: "5.0001" } };
    expect(
      contradictionsIn(
        breachClaim({ reference: { ...breachClaim().breach.reference, base: "9999.80" } }, { rule: percent }),
      ),
    ).toEqual([]);
    const amount = { ...RULE, limit: { unit: "amount" as const, value: "500.00" } };
    expect(contradictionsIn(breachClaim({}, { rule: amount }))).toEqual([]);
    expect(
      contradictionsIn(breachClaim({}, { rule: { ...amount, limit: { unit: "amount", value: "499.99" } } })),
    ).toEqual(["breach.threshold"]);
  });

  it("may have a threshold below the reference minus the limit only if the rule has lockAt", () => {
    const breach = { reference: { value: "11000.00", base: "10000.00", at: "2026-11-26T09:29:00.000Z" } };
    expect(contradictionsIn(breachClaim(breach))).toEqual(["breach.threshold"]);
    const locked = { ...RULE, parameters: { ...RULE.parameters, lockAt: "9500.00" } };
    expect(contradictionsIn(breachClaim(breach, { rule: locked }))).toEqual([]);
  });

  it("is checked without valuations from before the reference or before this version of the rule", () => {
    const low = withRecord(1, { equity: "9400.00" }).slice(0, 7);
    expect(contradictionsIn(breachClaim(), low)).toEqual(["breach.valuationIndex"]);
    const since = "2026-11-26T09:30:10.000Z";
    expect(contradictionsIn(breachClaim({ reference: { ...breachClaim().breach.reference, at: since } }), low)).toEqual(
      [],
    );
    expect(contradictionsIn(breachClaim({}, { rule: { ...RULE, activeFrom: since } }), low)).toEqual([]);
  });

  it("is checked so that a deposit is no profit and a withdrawal is no loss", () => {
    // 1,000 were deposited after the second valuation: the threshold of that valuation was 8,500.
    const records = (equity: string, netDeposits: string | null): EvidenceRecord[] =>
      withRecord(1, { equity, netDeposits }).slice(0, 7);
    expect(contradictionsIn(breachClaim(), records("8500.01", "-1000.00"))).toEqual([]);
    expect(contradictionsIn(breachClaim(), records("8500.00", "-1000.00"))).toEqual(["breach.valuationIndex"]);
    // 1,000 were withdrawn after the second valuation: the threshold of that valuation was 10,500.
    expect(contradictionsIn(breachClaim(), records("10500.01", "1000.00"))).toEqual([]);
    expect(contradictionsIn(breachClaim(), records("10500.00", "1000.00"))).toEqual(["breach.valuationIndex"]);
    // Without net deposits the earlier value cannot be compared.
    expect(contradictionsIn(breachClaim(), records("8500.00", null))).toEqual([]);
  });

  it("is checked without a valuation that was measured before a valuation with a lower offset", () => {
    const repeated = valuation(5, 9_000_00, { measuredAt: "2026-11-26T09:30:10.000Z" });
    const records = RECORDS.slice(0, 7).map((record, index) => (index === 5 ? repeated : record));
    expect(
      contradictionsIn(breachClaim({ extremeValue: "9466.90", extremeAt: "2026-11-26T09:31:00.000Z" }), records),
    ).toEqual([]);
  });

  it("of a profit target is about the highest value, and may be about the balance", () => {
    const records = [9_900_00, 10_700_00, 10_800_00, 11_200_00, 10_500_00].map((balanceMinor, index) =>
      valuation(index, 9_000_00, { balance: `${balanceMinor / 100}.00` }),
    );
    const rule = { ...RULE, type: "profitTarget", limit: { unit: "percent" as const, value: "8" } };
    const breach = {
      compared: "balance" as const,
      side: "atOrAbove" as const,
      threshold: "10800.00",
      value: "10800.00",
      at: "2026-11-26T09:30:20.000Z",
      valuationIndex: 2,
      extremeValue: "11200.00",
      extremeAt: "2026-11-26T09:30:30.000Z",
    };
    expect(contradictionsIn(breachClaim(breach, { rule }), records)).toEqual([]);
    expect(contradictionsIn(breachClaim({ ...breach, extremeValue: "10800.00" }, { rule }), records)).toEqual([
      "breach.extremeValue",
    ]);
  });

  it("can be about values that no valuation has: those of the account when the rule was set", () => {
    const breach = { valuationIndex: null, value: "9123.45", extremeValue: "9123.45" };
    expect(contradictionsIn(breachClaim(breach), [])).toEqual([]);
  });
});

describe("the records of evidence", () => {
  it("contradict the claim unless the samples have no gap and each sample has the values of its last valuation", () => {
    expect(contradictionsIn(breachClaim(), withRecord(8, { sequence: 513 }).slice(0, 9))).toEqual(["records[8]"]);
    expect(contradictionsIn(breachClaim(), withRecord(8, { from: 1_213 }))).toEqual(["records[8]"]);
    expect(contradictionsIn(breachClaim(), withRecord(8, { equity: "9500.01" }))).toEqual(["records[8]"]);
    expect(contradictionsIn(breachClaim(), withRecord(8, { intervalMinimumEquity: "9500.01" }))).toEqual([
      "records[8]",
    ]);
  });

  it("contradict the claim unless they are of one partition and of the claimed interval", () => {
    expect(contradictionsIn(breachClaim(), withRecord(6, { partition: 4 }))).toEqual(["records[6]"]);
    expect(contradictionsIn(breachClaim({}, { from: "2026-11-26T09:30:00.001Z" }))).toEqual(["records[0]"]);
  });

  it("are not signed unless they are given in the order of their offsets", () => {
    expect(() => buildEvidence(breachClaim(), RECORDS.toReversed(), SIGNER)).toThrow("by offset");
    expect(() => buildEvidence(breachClaim(), [valuation(1, 1), valuation(1, 1)], SIGNER)).toThrow("by offset");
  });
});
