import { describe, expect, it } from "vitest";

import { leveragesOf } from "./leverages.ts";

describe("the leverages that a person writes", () => {
  it("may have commas, spaces or lines between them", () => {
    expect(leveragesOf("1, 2\n50  100;")).toEqual([1, 2, 50, 100]);
  });

  it.each([
    ["", "Give at least one leverage."],
    ["1, x", "“x” is no whole number from 1 to 10000."],
    ["1.5", "“1.5” is no whole number from 1 to 10000."],
    ["0", "“0” is no whole number from 1 to 10000."],
    ["10001", "“10001” is no whole number from 1 to 10000."],
    ["5, 10, 5", "5 is there twice."],
    [Array.from({ length: 101 }, (_, index) => index + 1).join(" "), "Give 100 leverages at most."],
  ])("are refused in words: %j", (text, words) => {
    expect(leveragesOf(text)).toBe(words);
  });
});
