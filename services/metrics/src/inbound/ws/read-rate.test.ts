import { describe, expect, it } from "vitest";

import { ReadRate } from "./read-rate.ts";

describe("the read rate of a socket", () => {
  it("is unlimited up to its limit", () => {
    let nowMs = 0;
    const rate = new ReadRate(1_000, { nowMs: () => nowMs });
    for (let message = 0; message < 5_000; message += 1) {
      nowMs += 1;
      expect(rate.take()).toBe(0);
    }
  });

  it("pauses for as long as the excess messages would have taken", () => {
    let nowMs = 0;
    const rate = new ReadRate(1_000, { nowMs: () => nowMs });
    let pauseMs = 0;
    for (let message = 0; message < 3_500; message += 1) pauseMs = rate.take();
    expect(pauseMs).toBe(2_500);
    nowMs += 2_501;
    expect(rate.take()).toBe(0);
  });
});
