import { describe, expect, it } from "vitest";

import { eventually } from "./eventually.ts";
import { TestClock } from "./test-clock.ts";

describe("eventually", () => {
  it("returns the value of the first check that succeeds", async () => {
    let calls = 0;
    const value = await eventually(() => {
      calls += 1;
      if (calls === 1) throw new Error("not yet");
      return calls === 2 ? false : "there";
    });
    expect(value).toBe("there");
    expect(calls).toBe(3);
  });

  it("throws the last failure after the timeout", async () => {
    const never = eventually(() => Promise.reject(new Error("balance is 3")), { timeoutMs: 30, intervalMs: 5 });
    await expect(never).rejects.toThrow("balance is 3");
  });

  it("fails after the timeout if the check still returns false", async () => {
    await expect(eventually(() => false, { timeoutMs: 30, intervalMs: 5 })).rejects.toThrow("still false after 30 ms");
  });
});

describe("the test clock", () => {
  it("moves only when a test moves it", async () => {
    const clock = new TestClock(1_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(clock.nowMs()).toBe(1_000);
    clock.advance(500);
    expect(clock.nowMs()).toBe(1_500);
    clock.set(42);
    expect(clock.nowMs()).toBe(42);
  });
});
