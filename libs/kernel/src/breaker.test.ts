import { expect, it } from "vitest";

import { Breaker, BREAKER_FAILURES } from "./breaker.ts";

it("the breaker allows a probe after its pause, and at once if the clock was set back", () => {
  let nowMs = Date.UTC(2026, 0, 1);
  const clock = { nowMs: () => nowMs };
  const breaker = new Breaker(clock, () => 0);
  for (let failures = 0; failures < BREAKER_FAILURES; failures += 1) breaker.failed(breaker.sent());
  expect([breaker.open, breaker.allowance()]).toEqual([true, 0]);
  nowMs += breaker.waitMs();
  expect(breaker.allowance()).toBe(1);
  nowMs -= 10 * 60_000;
  expect([breaker.waitMs(), breaker.allowance()]).toEqual([0, 1]);
});

it("a probe continues although a call that was sent before the breaker opened fails late, or ends without reaching the server", () => {
  let nowMs = Date.UTC(2026, 0, 1);
  const breaker = new Breaker({ nowMs: () => nowMs }, () => 0);
  const [late, alsoLate] = [breaker.sent(), breaker.sent()];
  for (let failures = 0; failures < BREAKER_FAILURES; failures += 1) breaker.failed(breaker.sent());
  nowMs += breaker.waitMs();
  const probe = breaker.sent();
  breaker.failed(late);
  breaker.unused(alsoLate);
  expect([breaker.probing, breaker.waitMs(), breaker.allowance()]).toEqual([true, 0, 0]);
  breaker.failed(probe);
  expect([breaker.probing, breaker.waitMs()]).toEqual([false, 2_000]);
});

it("a late end of a former probe does not end the next probe", () => {
  let nowMs = Date.UTC(2026, 0, 1);
  const breaker = new Breaker({ nowMs: () => nowMs }, () => 0);
  const open = (): number => {
    for (let failures = 0; failures < BREAKER_FAILURES; failures += 1) breaker.failed(breaker.sent());
    nowMs += breaker.waitMs();
    return breaker.sent();
  };
  const former = open();
  breaker.answered();
  open();
  breaker.failed(former);
  expect([breaker.probing, breaker.allowance()]).toEqual([true, 0]);
});
