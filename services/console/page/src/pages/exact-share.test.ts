import { expect, it } from "vitest";

import { difference, exactShare } from "./exact-share.ts";

it.each([
  [501.4, "10000.00", "5.0140"],
  [0.07, "0.1", "70.0000"],
  [1.005, "100", "1.0050"],
  [1, "3", "33.3333"],
  [2, "3", "66.6667"],
  [0.00005, "100", "0.0001"],
  [-12.5, "1000", "-1.2500"],
  ["90071992547409.93", "90071992547409.93", "100.0000"],
])("the share of %s in %s is %s percent, rounded to four decimals", (amount, base, share) => {
  expect(exactShare(amount, base)).toBe(share);
});

it.each([["0"], ["-5"], ["x"]])("no amount has a share in the base %s", (base) => {
  expect(exactShare(5, base)).toBeNull();
});

it("differences of money are exact", () => {
  expect(difference(10_000.1, 9_498.7)).toBe(501.4);
  expect(difference(0.3, 0.1)).toBe(0.2);
});
