import { Valuation } from "@kapi/contracts";
import { decodeValuation, VALUATION_FIELDS } from "@kapi/contracts/codec";
import { valuation } from "@kapi/testkit";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { MAX_FRAME_BYTES } from "../acceptance-rule.ts";
import { encodeLiveFrame } from "./live-frame.ts";
import { sameValues } from "../valuation-record.ts";

const SERVER = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f";
const LONGEST = "a".repeat(32);

function read(change: object): ReturnType<typeof decodeValuation> {
  const value = { ...valuation({ serverId: SERVER, accountNumber: LONGEST }), ...change };
  return decodeValuation(`${SERVER}/${LONGEST}`, Buffer.from(JSON.stringify(value)), 7);
}

/** The frame of a sample of one valuation, which has the values of `change`. */
function frame(change: object): Buffer {
  const found = read(change);
  if ("fault" in found) throw new Error(found.fault);
  const { valuation } = found;
  const range = { sequence: Number.MAX_SAFE_INTEGER, from: 1, to: 2 };
  const minimum = { equityMinor: valuation.equityMinor, measuredAt: valuation.measuredAt };
  return encodeLiveFrame(found, { range, values: valuation, measuredAt: valuation.measuredAt, minimum });
}

describe("an accepted valuation", () => {
  it("never becomes a frame above MAX_FRAME_BYTES", () => {
    const most = Number.MIN_SAFE_INTEGER;
    const amounts = { balanceMinor: most, equityMinor: most, marginMinor: most, freeMarginMinor: most };
    const change = { ...amounts, marginLevel: -Number.MAX_VALUE, openPositionCount: Number.MAX_SAFE_INTEGER };
    expect(frame({ ...change, measuredAt: `2026-01-01T00:00:00.${"1".repeat(18)}Z` }).length).toBeLessThan(
      MAX_FRAME_BYTES,
    );
    const tooLong = read({ ...change, measuredAt: `2026-01-01T00:00:00.${"1".repeat(2_000)}Z` });
    expect(tooLong).toEqual({ reason: "malformed", fault: "the valuation is malformed: measuredAt: too long" });
  });
});

/** The valuation with spaces after commas: the schema decodes it, not the fast decoder. */
function spaced(text: string): string {
  return text.replaceAll(',"', ', "');
}

/** A valuation that the trading simulator of an earlier release wrote. */
const RECORDED =
  '{"serverId":"5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f","accountNumber":"10000001","measuredAt":"2026-03-01T10:00:00.123Z"' +
  ',"balanceMinor":1000000,"equityMinor":-1012345,"marginMinor":20050,"freeMarginMinor":0,"marginLevel":-5049.1' +
  ',"unrealizedProfitMinor":-2012345,"openPositionCount":3}';
/** The valuation of a trading server that sends net deposits. */
const WITH_DEPOSITS = RECORDED.replace("}", ',"netDepositsMinor":-25050}');

describe("a valuation in the usual field order", () => {
  it("has the fields of the contract, and is decoded to its values", () => {
    expect(JSON.stringify(Valuation.parse(JSON.parse(RECORDED)))).toBe(RECORDED);
    const measuredAt = "2026-03-01T10:00:00.123Z";
    const valuation = {
      offset: 7,
      measuredAt,
      measuredAtMs: Date.parse(measuredAt),
      balanceMinor: 1_000_000,
      equityMinor: -1_012_345,
      marginMinor: 20_050,
      freeMarginMinor: 0,
      marginLevel: -5_049.1,
      openPositionCount: 3,
    };
    const account = { serverId: SERVER, accountNumber: "10000001" };
    expect(JSON.stringify(Valuation.parse(JSON.parse(WITH_DEPOSITS)))).toBe(WITH_DEPOSITS);
    for (const [text, netDepositsMinor] of [
      [RECORDED, null],
      [WITH_DEPOSITS, -25_050],
    ] as const) {
      const expected = { ...account, valuation: { ...valuation, netDepositsMinor } };
      expect(decodeValuation(`${SERVER}/10000001`, Buffer.from(text), 7)).toEqual(expected);
      expect(decodeValuation(`${SERVER}/10000001`, Buffer.from(spaced(text)), 7)).toEqual(expected);
    }
  });

  const both = (text: string): [unknown, unknown] => {
    const key = `${SERVER}/${LONGEST}`;
    return [decodeValuation(key, Buffer.from(text), 7), decodeValuation(key, Buffer.from(spaced(text)), 7)];
  };
  const valid = JSON.stringify(
    valuation({ serverId: SERVER, accountNumber: LONGEST, marginMinor: 300, equityMinor: 7 }),
  );

  it("is decoded to the same values as the schema gives", () => {
    const minor = fc.maxSafeInteger();
    const moment = fc.date({ min: new Date("0000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true });
    fc.assert(
      fc.property(moment, minor, minor, fc.double(), (at, equityMinor, balanceMinor, marginLevel) => {
        const change = { measuredAt: at.toISOString(), equityMinor, balanceMinor, marginLevel };
        const [usual, other] = both(JSON.stringify({ ...(JSON.parse(valid) as object), ...change }));
        expect(usual).toEqual(other);
      }),
    );
  });

  it("is rejected if and only if the schema rejects it", () => {
    const [usual, other] = both(valid);
    expect(usual).toHaveProperty("valuation");
    expect(usual).toEqual(other);
    const character = fc.constantFrom(...'0123456789-+.eTZ"{}[],: aZé\\\u0000'.split(""));
    fc.assert(
      fc.property(fc.nat(valid.length - 1), fc.nat(2), character, (at, removed, added) => {
        const [damaged, spacedOut] = both(valid.slice(0, at) + added + valid.slice(at + removed));
        expect("fault" in (damaged as object)).toBe("fault" in (spacedOut as object));
        if (!("fault" in (damaged as object))) expect(damaged).toEqual(spacedOut);
      }),
      { numRuns: 2_000 },
    );
    for (const day of [
      "2026-02-29",
      "2028-02-29",
      "2026-02-30",
      "2026-04-31",
      "2026-13-01",
      "2026-00-10",
      "2026-01-00",
    ]) {
      const [damaged, spacedOut] = both(valid.replace(/\d{4}-\d\d-\d\d/, day));
      expect(damaged).toEqual(spacedOut);
    }
  });
});

describe("the fields of a valuation", () => {
  it("are decoded in the order of the contract, because trading servers write them in this order", () => {
    expect(Object.keys(VALUATION_FIELDS)).toEqual(Object.keys(Valuation.shape));
  });

  it.each(["balanceMinor", "equityMinor", "marginMinor", "freeMarginMinor", "marginLevel", "openPositionCount"])(
    "differ for `sameValues` when only %s changes",
    (field) => {
      const [before, after] = [read({ [field]: 1 }), read({ [field]: 2 })];
      if ("fault" in before || "fault" in after) throw new Error("a valuation was rejected");
      expect(sameValues(before.valuation, before.valuation)).toBe(true);
      expect(sameValues(before.valuation, after.valuation)).toBe(false);
    },
  );
});
