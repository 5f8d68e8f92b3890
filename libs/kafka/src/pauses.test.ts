import { describe, expect, it } from "vitest";

import { intervalAfter } from "./pauses.ts";

describe("the time to the next fetch", () => {
  const options = { minIntervalMs: 5, busyIntervalMs: 40 };

  it("is longer only after a batch of more than four messages", () => {
    expect([1, 2, 4].map((count) => intervalAfter(count, options))).toEqual([5, 5, 5]);
    expect([5, 1_000].map((count) => intervalAfter(count, options))).toEqual([40, 40]);
  });

  it("is always `minIntervalMs` if `busyIntervalMs` is not given", () => {
    expect(intervalAfter(1_000, { minIntervalMs: 7 })).toBe(7);
  });
});
