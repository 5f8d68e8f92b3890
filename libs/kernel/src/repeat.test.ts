import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { deferred } from "./deferred.ts";
import { repeat, type RepeatOptions } from "./repeat.ts";

const PAUSE_MS = 1_000;

/** Rounds with the results of `script`, in order; further rounds find no work. */
function setUp(script: readonly ("fail" | "more" | "done")[], options: Partial<RepeatOptions> = {}) {
  const beganMs = performance.now();
  const rounds: number[] = [];
  const warn = vi.fn();
  const { value, stop } = repeat({
    name: "stories",
    round: async () => {
      const step = script[rounds.length];
      rounds.push(performance.now() - beganMs);
      if (step === "fail") throw new Error(`round ${rounds.length}`);
      return step === "more";
    },
    pauseMs: PAUSE_MS,
    logger: { warn },
    random: () => 0,
    ...options,
  });
  return { value, stop, rounds, warn };
}

describe("repeat", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("pauses after a round that left no work, but not after a round that left more work", async () => {
    const { rounds, stop } = setUp(["more", "more", "done"]);
    await vi.advanceTimersByTimeAsync(2 * PAUSE_MS);
    expect(rounds).toEqual([0, 0, 0, PAUSE_MS, 2 * PAUSE_MS]);
    await stop();
  });

  it("pauses before the first round if `firstPauseMs` is set", async () => {
    const { rounds, stop } = setUp([], { firstPauseMs: 300 });
    await vi.advanceTimersByTimeAsync(299);
    expect(rounds).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(rounds).toEqual([300]);
    await stop();
  });

  it("doubles the pause while rounds fail, up to 5 s, and starts again from `pauseMs` after a success", async () => {
    const { rounds, stop } = setUp(["fail", "fail", "fail", "fail", "fail", "done", "fail"]);
    await vi.advanceTimersByTimeAsync(19_000);
    expect(rounds).toEqual([0, 1_000, 3_000, 7_000, 12_000, 17_000, 18_000, 19_000]);
    await stop();
  });

  it("pauses at most 5 s after a failure, even if `pauseMs` is longer", async () => {
    const { rounds, stop } = setUp(["fail"], { pauseMs: 3_600_000 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(rounds).toEqual([0, 5_000]);
    await stop();
  });

  it("pauses for `backOff.firstMs` after each failure if `backOff.maxMs` is not set", async () => {
    const { rounds, stop } = setUp(["fail", "fail", "fail"], { backOff: { firstMs: 20_000 } });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(rounds).toEqual([0, 20_000, 40_000, 60_000]);
    await stop();
  });

  it("logs and counts consecutive failures, and reports the last failure until a round succeeds", async () => {
    const { value, warn, stop } = setUp(["fail", "fail", "done"]);
    expect(value.failing()).toBeNull();
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
    expect(value.failing()).toBe("stories: round 2");
    expect(warn.mock.calls.map(([fields]) => fields)).toEqual([
      { err: new Error("round 1"), loop: "stories", failures: 1 },
      { err: new Error("round 2"), loop: "stories", failures: 2 },
    ]);
    await vi.advanceTimersByTimeAsync(2 * PAUSE_MS);
    expect(value.failing()).toBeNull();
    await stop();
  });

  it("ends its pause when it is woken", async () => {
    const { value, rounds, stop } = setUp([]);
    await vi.advanceTimersByTimeAsync(300);
    value.wake();
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
    expect(rounds).toEqual([0, 300, 300 + PAUSE_MS]);
    await stop();
  });

  it("starts the next round at once if it was woken during a round", async () => {
    const first = deferred<void>();
    let rounds = 0;
    const { value, stop } = setUp([], { round: () => ((rounds += 1) === 1 ? first.promise : Promise.resolve()) });
    value.wake();
    first.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(rounds).toBe(2);
    await stop();
  });

  it("aborts the signal of the running round when it is stopped, waits for this round, and starts no further round", async () => {
    const running = deferred<void>();
    const signals: AbortSignal[] = [];
    const { stop } = setUp([], {
      round: (signal) => {
        signals.push(signal);
        return running.promise;
      },
    });
    let isStopped = false;
    const stopping = stop().then(() => (isStopped = true));
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
    expect(isStopped).toBe(false);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    running.resolve();
    await stopping;
    expect(signals).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends its pause when it is stopped", async () => {
    const { rounds, stop } = setUp([]);
    await vi.advanceTimersByTimeAsync(300);
    await stop();
    expect(rounds).toEqual([0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
