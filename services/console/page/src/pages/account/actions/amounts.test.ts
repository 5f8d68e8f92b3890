import { expect, it } from "vitest";

import { balanceAfter, inUnits, minorUnits } from "./amounts.ts";

it.each([
  ["100", 10_000],
  ["0.30", 30],
  ["1234,5", 123_450],
  [" 7 ", 700],
  ["0", null],
  ["-5", null],
  ["1.234", null],
  ["1,234.50", null],
  ["1e5", null],
  ["", null],
])("the entered text %j gives %j minor units (null: the text is refused)", (text, minor) => {
  expect(minorUnits(text)).toBe(minor);
});

it("a balance after a change has no rounding error", () => {
  expect(balanceAfter(0.1, 20)).toBe(0.3);
  expect(balanceAfter(1_000.1, -30)).toBe(999.8);
  expect(inUnits(minorUnits("0.07") ?? 0)).toBe(0.07);
});
