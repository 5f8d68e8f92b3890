import { expect, it } from "vitest";

import { labelsOf } from "./chart.tsx";

it("labels of an axis are compact, but no two labels are equal", () => {
  expect(labelsOf([10_000, 12_500, 15_000], 2_500)).toEqual(["10K", "12.5K", "15K"]);
  expect(labelsOf([1_000_000, 1_500_000], 500_000)).toEqual(["1M", "1.5M"]);
  expect(labelsOf([999_000, 1_000_000, 1_001_000], 1_000)).toEqual(["999,000", "1,000,000", "1,001,000"]);
  expect(labelsOf([1_000, 1_500], 500)).toEqual(["1,000", "1,500"]);
  expect(labelsOf([0, 0.5], 0.5)).toEqual(["0.00", "0.50"]);
});
