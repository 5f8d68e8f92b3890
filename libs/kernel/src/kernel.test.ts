import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";

import {
  amountFromMinor,
  canonicalJson,
  derivePassword,
  isUuid,
  minorFromAmount,
  latestOf,
  nearestDecimal,
  monotonicClock,
  OrganizationSlots,
  uuidV5,
  uuidV7,
} from "./index.ts";

it("the monotonic clock does not jump when the machine's clock is set", () => {
  const beforeMs = monotonicClock.nowMs();
  expect(Math.abs(beforeMs - Date.now())).toBeLessThan(60_000);
  const machine = vi.spyOn(Date, "now").mockReturnValue(0);
  expect(monotonicClock.nowMs() - beforeMs).toBeLessThan(10_000);
  expect(monotonicClock.nowMs()).toBeGreaterThanOrEqual(beforeMs);
  machine.mockRestore();
});

it("latestOf returns the time of the clock that is furthest ahead", () => {
  const [behind, ahead] = [{ nowMs: () => -1 }, { nowMs: () => 5 }];
  expect(latestOf(behind, ahead).nowMs()).toBe(5);
  expect(latestOf(ahead, behind).nowMs()).toBe(5);
});

describe("the functions for money", () => {
  it("read an amount that is at most 0.000001 from a whole cent as that cent, and return null for any other amount", () => {
    expect(minorFromAmount(10.25)).toBe(1025);
    expect(minorFromAmount(0.1 + 0.2)).toBe(30);
    expect(minorFromAmount(10.2500005)).toBe(1025);
    expect(minorFromAmount(10.255)).toBeNull();
    expect(minorFromAmount(0.001)).toBeNull();
    expect(minorFromAmount(1e308)).toBeNull();
    expect(Object.is(minorFromAmount(-0), 0)).toBe(true);
  });

  it("correct a rounding error such as that of 0.1 + 0.2, and return null if a number has more decimals or is too large", () => {
    expect(nearestDecimal(0.1 + 0.2, 2)).toBe(0.3);
    expect(nearestDecimal(1.1 + 2.2, 2)).toBe(3.3);
    expect(nearestDecimal(-0.1 - 0.2, 2)).toBe(-0.3);
    expect(nearestDecimal(0.1 * 3 + 1e9, 2)).toBe(1_000_000_000.3);
    expect(Object.is(nearestDecimal(-0, 2), 0)).toBe(true);
    for (const value of [1.000_000_1, 1.000_000_000_001, 1.005, 0.3 - 0.2 - 0.1, 1e-17, 1e308, Infinity, NaN]) {
      expect([value, nearestDecimal(value, 2)]).toEqual([value, null]);
    }
  });

  it("return every amount with at most two decimals unchanged", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e11, max: 1e11 }), (cents) => {
        const text = `${cents < 0 ? "-" : ""}${Math.trunc(Math.abs(cents) / 100)}.${String(Math.abs(cents) % 100).padStart(2, "0")}`;
        expect(nearestDecimal(Number(text), 2)).toBe(Number(text));
      }),
    );
  });

  it("return the exact sum of two to five amounts that were added in floating point", () => {
    const cents = fc.integer({ min: 1, max: 1e8 });
    fc.assert(
      fc.property(fc.array(cents, { minLength: 2, maxLength: 5 }), (some) => {
        const sum = some.reduce((total, one) => total + one / 100, 0);
        expect(nearestDecimal(sum, 2)).toBe(some.reduce((total, one) => total + one, 0) / 100);
      }),
    );
  });

  it("convert every integer of cents to an amount and back without a change", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e14, max: 1e14 }), (cents) => {
        expect(minorFromAmount(amountFromMinor(cents))).toBe(cents);
      }),
    );
  });
});

describe("the functions for ids", () => {
  it("create the UUIDv5 of RFC 9562, appendix A.4", () => {
    expect(uuidV5("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.example.com")).toBe(
      "2ed6657d-e927-568b-95e1-2665a8aea6a2",
    );
  });

  it("create UUIDv7 that sort by time", () => {
    const ids = [1, 2, 1_700_000_000_000].map(uuidV7);
    expect(ids.toSorted()).toEqual(ids);
    expect(ids.every(isUuid)).toBe(true);
  });
});

describe("canonicalJson", () => {
  it("returns equal text for equal values in any order of keys, and different text for different values", () => {
    expect(canonicalJson({ b: 1, a: [{ d: null, c: "x" }] })).toBe('{"a":[{"c":"x","d":null}],"b":1}');
    expect(canonicalJson({ a: 1, b: undefined })).toBe(canonicalJson({ a: 1 }));
    expect(canonicalJson({ a: "1" })).not.toBe(canonicalJson({ a: 1 }));
  });

  it("sorts keys by code units, as in the example of RFC 8785, 3.2.3", () => {
    const keys = ["\u20ac", "\r", "\ufb33", "1", "\ud83d\ude00", "\u0080", "\u00f6"];
    const sorted = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\ud83d\ude00", "\ufb33"];
    const object = Object.fromEntries(keys.map((key) => [key, 0]));
    expect(canonicalJson(object)).toBe(`{${sorted.map((key) => `${JSON.stringify(key)}:0`).join(",")}}`);
  });
});

describe("a generated password", () => {
  const older = Buffer.alloc(32, 1);
  const before = { currentKeyId: "older", keys: new Map([["older", older]]) };
  const after = {
    currentKeyId: "newer",
    keys: new Map([
      ["newer", Buffer.alloc(32, 2)],
      ["older", older],
    ]),
  };

  it("depends on the named key and the purpose, not on the current key; a key that is not in the keyring is an error", () => {
    const id = "0190f6d2-0000-5000-8000-00000000000a";
    const password = derivePassword(before, "older", id, "trading");
    expect(derivePassword(after, "older", id, "trading")).toBe(password);
    expect(derivePassword(after, "newer", id, "trading")).not.toBe(password);
    expect(derivePassword(after, "older", id, "investor")).not.toBe(password);
    expect(() => derivePassword(before, "newer", id, "trading")).toThrow("newer");
  });
});

describe("the slots of organizations", () => {
  it("are limited to the share of each organization, and a released slot is free again", () => {
    const slots = new OrganizationSlots({ perOrganization: 2 });
    const [first, second] = [slots.take("a"), slots.take("a")];
    expect(first).not.toBeNull();
    expect(second).not.toBeNull();
    expect(slots.take("a")).toBeNull();
    expect(slots.take("b")).not.toBeNull();
    first?.();
    first?.();
    expect(slots.take("a")).not.toBeNull();
    expect(slots.take("a")).toBeNull();
  });

  it("are limited to the total for all organizations together", () => {
    const slots = new OrganizationSlots({ perOrganization: 2, total: 3 });
    const release = slots.take("a");
    slots.take("a");
    slots.take("b");
    expect(slots.take("c")).toBeNull();
    release?.();
    expect(slots.take("c")).not.toBeNull();
  });
});
