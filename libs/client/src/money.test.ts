import fc from "fast-check";
import { expect, it } from "vitest";

import { formatRequest, parseAnswer } from "./money.ts";

it("every amount of up to a billion is the same to the cent after conversion to the wire and back", () => {
  fc.assert(
    fc.property(fc.integer({ min: -100_000_000_000, max: 100_000_000_000 }), (cents) => {
      const [sign, digits] = [cents < 0 ? "-" : "", String(Math.abs(cents)).padStart(3, "0")];
      const amount = `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}`;
      const wire = formatRequest({ amount });
      expect(wire).toMatch(/^\{"amount":-?\d+(\.\d{1,2})?\}$/);
      expect(parseAnswer(wire)).toEqual({ amount: amount === "-0.00" ? "0.00" : amount });
    }),
  );
});

it("only amounts of money become decimal strings, at any depth", () => {
  const answer = parseAnswer(
    '{"command":{"payload":{"amount":1.5},"attempts":2},"page":1,"deals":[{"price":1.1,"swap":0}]}',
  );
  expect(answer).toEqual({
    command: { payload: { amount: "1.50" }, attempts: 2 },
    page: 1,
    deals: [{ price: 1.1, swap: "0.00" }],
  });
});

it.each(["1.005", "1e3", "", " 1", "1,5", "0x10", "NaN", 250.55, "99999999999999"])("%o is not an amount", (amount) => {
  expect(() => formatRequest({ amount })).toThrow("amount must be a decimal string");
});
