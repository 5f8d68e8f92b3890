import { describe, expect, it } from "vitest";

import { leveragesOf } from "./leverages.ts";

describe("leverages", () => {
  it("can be separated by commas, semicolons, spaces or line ends", () => {
    expect(leveragesOf("1, 2\n50  100;")).toEqual([1, 2, 50, 100]);
  });

  it.each([
    ["", "Enter at least one leverage."],
    ["1, x", "“x” is not a whole number from 1 to 10000."],
    ["1.5", "“1.5” is not a whole number from 1 to 10000."],
    ["0", "“0” is not a whole number from 1 to 10000."],
    ["10001", "“10001” is not a whole number from 1 to 10000."],
    ["5, 10, 5", "5 is listed twice."],
    [Array.from({ length: 101 }, (_, index) => index + 1).join(" "), "Enter at most 100 leverages."],
  ])("of an invalid text give a sentence about the error: %j", (text, words) => {
    expect(leveragesOf(text)).toBe(words);
  });
});
