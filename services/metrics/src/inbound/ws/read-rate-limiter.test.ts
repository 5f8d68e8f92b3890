import { describe, expect, it } from "vitest";

import { ReadRateLimiter } from "./read-rate-limiter.ts";

describe("the read rate limiter of a socket", () => {
  it("does not pause while messages come at its rate", () => {
    let nowMs = 0;
    const rate = new ReadRateLimiter(1_000, { nowMs: () => nowMs });
    for (let message = 0; message < 5_000; message += 1) {
      nowMs += 1;
      expect(rate.countMessage()).toBe(0);
    }
  });

  it("pauses for the time that the excess messages take at the allowed rate", () => {
    let nowMs = 0;
    const rate = new ReadRateLimiter(1_000, { nowMs: () => nowMs });
    let pauseMs = 0;
    for (let message = 0; message < 3_500; message += 1) pauseMs = rate.countMessage();
    expect(pauseMs).toBe(2_500);
    nowMs += 2_501;
    expect(rate.countMessage()).toBe(0);
  });
});
