import { describe, expect, it } from "vitest";

import { MAX_RETRY_AFTER_MS, retryDelayMs, retryAfterOf, RETRY_DELAYS_MS } from "./retry-schedule.ts";

const HOUR_S = 3_600;

describe("a failed delivery is retried", () => {
  it("after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, then no more", () => {
    const delays = Array.from({ length: 10 }, (_, index) => retryDelayMs(index + 1, null, 0));
    const hours = [2, 5, 10, 14, 20, 24].map((count) => count * HOUR_S);
    expect(delays).toEqual([...[5, 300, 1_800, ...hours].map((seconds) => seconds * 1_000), null]);
  });

  it("up to a tenth later at random, and never earlier", () => {
    for (const [index, delayMs] of RETRY_DELAYS_MS.entries()) {
      expect(retryDelayMs(index + 1, null, 0.999_999)).toBeGreaterThan(delayMs * 1.09);
      expect(retryDelayMs(index + 1, null, 0.999_999)).toBeLessThanOrEqual(delayMs * 1.1);
    }
  });

  it("not before Retry-After has passed, which is capped at a day", () => {
    expect(retryDelayMs(1, 60_000, 0)).toBe(60_000);
    expect(retryDelayMs(3, 60_000, 0)).toBe(1_800_000);
    expect(retryDelayMs(1, 400 * 24 * 3_600_000, 0)).toBe(MAX_RETRY_AFTER_MS);
    expect(retryDelayMs(10, 60_000, 0)).toBeNull();
  });
});

describe("Retry-After", () => {
  const nowMs = Date.UTC(2026, 0, 1);

  it.each([
    ["120", 120_000],
    [" 0 ", 0],
    ["Thu, 01 Jan 2026 00:01:30 GMT", 90_000],
    ["Wed, 31 Dec 2025 23:00:00 GMT", 0],
    ["soon", null],
    ["-5", null],
  ])("%j means %j ms", (header, expected) => {
    expect(retryAfterOf(429, header, nowMs)).toBe(expected);
    expect(retryAfterOf(503, header, nowMs)).toBe(expected);
  });

  it("is ignored with another status", () => {
    expect(retryAfterOf(500, "120", nowMs)).toBeNull();
    expect(retryAfterOf(null, undefined, nowMs)).toBeNull();
  });
});
