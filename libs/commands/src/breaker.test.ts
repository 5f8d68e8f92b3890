import { TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import { Breaker } from "./breaker.ts";
import { BREAKER_FAILURES } from "./limits.ts";

it("lets a probe go out after a pause, and at once where the clock was set back meanwhile", () => {
  const clock = new TestClock();
  const breaker = new Breaker(clock, () => 0);
  for (let failures = 0; failures < BREAKER_FAILURES; failures += 1) breaker.failed();
  expect([breaker.open, breaker.allowance()]).toEqual([true, 0]);
  clock.advance(breaker.waitMs());
  expect(breaker.allowance()).toBe(1);
  clock.advance(-10 * 60_000);
  expect([breaker.waitMs(), breaker.allowance()]).toEqual([0, 1]);
});
