import fc from "fast-check";
import { expect, it } from "vitest";

import { decimalText, moneyText } from "./decimal-text.ts";

it("the text of money has exactly two decimals, and is exact", () => {
  expect([0, 5, -5, -1_250, 950_000, Number.MAX_SAFE_INTEGER].map(moneyText)).toEqual([
    "0.00",
    "0.05",
    "-0.05",
    "-12.50",
    "9500.00",
    "90071992547409.91",
  ]);
  const minor = fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(minor, (amount) => {
      const text = moneyText(amount);
      expect(text).toMatch(/^-?\d+\.\d\d$/);
      expect(Number(text.replace(".", ""))).toBe(amount);
    }),
  );
  expect(() => moneyText(0.5)).toThrow("safe integer");
});

it("the text of a decimal number has no exponent, and is read as the same number", () => {
  expect([1.08451, 0.01, 1e-7, 1.5e-10, -2, -0, 1e20].map(decimalText)).toEqual([
    "1.08451",
    "0.01",
    "0.0000001",
    "0.00000000015",
    "-2",
    "0",
    "100000000000000000000",
  ]);
  const price = fc.tuple(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: 0, max: 10 }));
  fc.assert(
    fc.property(price, ([digits, decimals]) => {
      const value = digits / 10 ** decimals;
      expect(decimalText(value)).toMatch(/^\d+(\.\d+)?$/);
      expect(Number(decimalText(value))).toBe(value);
    }),
  );
  const invalid = [Number.NaN, Number.POSITIVE_INFINITY, 1.234567890123e-15];
  for (const value of invalid) expect(() => decimalText(value)).toThrow();
});
