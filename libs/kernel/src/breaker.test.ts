import { expect, it } from "vitest";

import { Breaker, BREAKER_FAILURES } from "./breaker.ts";

it("the breaker allows a probe after its pause, and at once if the clock was set back", () => {
  let nowMs = Date.UTC(2026, 0, 1);
  const clock = { nowMs: () => nowMs };
  const breaker = new Breaker(clock, () => 0);
  for (let failures = 0; failures < BREAKER_FAILURES; failures += 1) breaker.failed();
  expect([breaker.open, breaker.allowance()]).toEqual([true, 0]);
  nowMs += breaker.waitMs();
  expect(breaker.allowance()).toBe(1);
  nowMs -= 10 * 60_000;
  expect([breaker.waitMs(), breaker.allowance()]).toEqual([0, 1]);
});
