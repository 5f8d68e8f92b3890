import { expect, it } from "vitest";

import { WindowsTier } from "./windows-tier.ts";

const PARTITIONS = 12;

it.each([1, 2, 3, 5, 12])("each partition is the own partition of exactly one of %i processes", (count) => {
  const own = Array.from({ length: count }, (_, instance) =>
    new WindowsTier({ instance, count, replica: false }).holding(PARTITIONS),
  );
  expect(own.flatMap((holding) => holding.own).toSorted((left, right) => left - right)).toEqual(
    Array.from({ length: PARTITIONS }, (_, partition) => partition),
  );
  expect(own.flatMap(({ replica }) => replica)).toEqual([]);
});

it("with replicas on, each partition is also held by the process before the one that owns the partition", () => {
  const holdings = [0, 1, 2].map((instance) => new WindowsTier({ instance, count: 3, replica: true }).holding(4));
  expect(holdings).toEqual([
    { partitions: 4, own: [0, 3], replica: [1] },
    { partitions: 4, own: [1], replica: [2] },
    { partitions: 4, own: [2], replica: [0, 3] },
  ]);
});

it("a single process has no replica", () => {
  expect(new WindowsTier({ instance: 0, count: 1, replica: true }).holding(2)).toEqual({
    partitions: 2,
    own: [0, 1],
    replica: [],
  });
});
