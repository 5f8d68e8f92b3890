import { ApiError } from "@kapi/http";
import { TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import { TradingServerChecks } from "./check-trading-servers.ts";

const FIRST = "2026-01-01T00:00:00.000Z";

it("the check reports which trading server answers, and when an unavailable server last answered; it asks each server at most once in 5 s", async () => {
  const clock = new TestClock(Date.parse(FIRST));
  const unavailable = new Set<string>();
  let asked = 0;
  const ask = (serverId: string): Promise<void> => {
    asked += 1;
    return unavailable.has(serverId) ? Promise.reject(new Error("no answer")) : Promise.resolve();
  };
  const checks = new TradingServerChecks(ask, clock);
  expect(await checks.check(["a", "b"])).toEqual([
    { answers: true, answeredAt: FIRST },
    { answers: true, answeredAt: FIRST },
  ]);
  unavailable.add("a");
  await checks.check(["a", "b"]);
  expect(asked).toBe(2);
  clock.advance(6_000);
  const [a, b] = await checks.check(["a", "b"]);
  expect(a).toEqual({ answers: false, answeredAt: FIRST });
  expect(b).toEqual({ answers: true, answeredAt: "2026-01-01T00:00:06.000Z" });
});

it("a trading server that needs more than a second for its answer counts as not answering", async () => {
  const checks = new TradingServerChecks(() => new Promise(() => undefined), new TestClock(0));
  expect(await checks.check(["a"])).toEqual([{ answers: false, answeredAt: null }]);
});

it("a trading server that is not asked, because too many calls are running, keeps its last result; without a result it counts as answering", async () => {
  const clock = new TestClock(Date.parse(FIRST));
  let error: Error | null = new ApiError("TOO_MANY_CONCURRENT_REQUESTS");
  const ask = () => (error === null ? Promise.resolve() : Promise.reject(error));
  const checks = new TradingServerChecks(ask, clock);
  const next = (becomes: Error | null) => {
    error = becomes;
    clock.advance(6_000);
    return checks.check(["a"]);
  };
  expect(await checks.check(["a"])).toEqual([{ answers: true, answeredAt: null }]);
  const answeredAt = "2026-01-01T00:00:06.000Z";
  expect(await next(null)).toEqual([{ answers: true, answeredAt }]);
  expect(await next(new ApiError("TOO_MANY_CONCURRENT_REQUESTS"))).toEqual([{ answers: true, answeredAt }]);
  expect(await next(new Error("no answer"))).toEqual([{ answers: false, answeredAt }]);
  expect(await next(new ApiError("TOO_MANY_CONCURRENT_REQUESTS"))).toEqual([{ answers: false, answeredAt }]);
});
