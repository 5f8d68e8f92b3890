import { describe, expect, it } from "vitest";

import { ReadingRate } from "./reading-rate.ts";

describe("how fast a socket is read", () => {
  it("is not slowed up to its rate", () => {
    let nowMs = 0;
    const rate = new ReadingRate(1_000, { nowMs: () => nowMs });
    for (let message = 0; message < 5_000; message += 1) {
      nowMs += 1;
      expect(rate.take()).toBe(0);
    }
  });

  it("is slowed by as long as what came too fast would have taken", () => {
    let nowMs = 0;
    const rate = new ReadingRate(1_000, { nowMs: () => nowMs });
    let pauseMs = 0;
    for (let message = 0; message < 3_500; message += 1) pauseMs = rate.take();
    expect(pauseMs).toBe(2_500);
    nowMs += 2_501;
    expect(rate.take()).toBe(0);
  });
});
