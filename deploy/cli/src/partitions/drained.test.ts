import { OFFSETS_PER_GENERATION } from "@kapi/contracts";
import { expect, it } from "vitest";

import { partitionsBehind } from "./drained.ts";

/** Position of offset 0 in `metrics.samples` after the topic was recreated once. */
const RECREATED = OFFSETS_PER_GENERATION;

function behind(markers: readonly number[], ends: readonly bigint[]): readonly number[] {
  return partitionsBehind(new Map(markers.entries()), new Map(ends.entries()));
}

it("a partition is behind if its marker does not name its end, or if it has samples but no marker", () => {
  expect(behind([5, 7, 9], [5n, 8n, 8n])).toEqual([1, 2]);
  expect(behind([], [0n, 1n])).toEqual([1]);
});

it("a marker of the deleted topic does not count, although the recreated partition has the same end", () => {
  expect(behind([RECREATED + 5, 700], [5n, 700n])).toEqual([1]);
  expect(behind([RECREATED + 5, RECREATED + 700], [5n, 700n])).toEqual([]);
});
