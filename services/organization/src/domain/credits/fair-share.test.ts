import fc from "fast-check";
import { expect, it } from "vitest";

import { fairShare } from "./fair-share.ts";

const taken = (waiting: readonly number[], share: number): number =>
  waiting.reduce((sum, entries) => sum + Math.min(entries, share), 0);

it("the fair share lets every queue be taken whole if all entries fit", () => {
  expect(taken([3, 0, 40], fairShare([3, 0, 40], 100))).toBe(43);
  expect(fairShare([], 100)).toBe(100);
});

it("the fair share takes short queues whole, and equal parts of long ones", () => {
  expect(fairShare([5_000, 10, 6_000, 20], 1_030)).toBe(500);
  expect(fairShare([9_000], 1_000)).toBe(1_000);
});

it("if the capacity has at least one place per queue, the fair share takes no more entries than places; if entries are left, at most one place per queue is unused", () => {
  const queues = fc.array(fc.nat({ max: 2_000 }), { minLength: 1, maxLength: 64 });
  fc.assert(
    fc.property(queues, fc.integer({ min: 64, max: 5_000 }), (waiting, capacity) => {
      const share = fairShare(waiting, capacity);
      expect(taken(waiting, share)).toBeLessThanOrEqual(capacity);
      const all = waiting.reduce((sum, entries) => sum + entries, 0);
      expect(taken(waiting, share)).toBeGreaterThanOrEqual(Math.min(all, capacity - waiting.length));
    }),
  );
});
