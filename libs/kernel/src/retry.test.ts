import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { retry, type RetryOptions } from "./retry.ts";

const BACK_OFF = { firstMs: 100, maxMs: 400 };

/**
 * An attempt that fails `times` times, with "failure 1", "failure 2" and so on; then it returns
 * "done".
 */
function failing(times: number) {
  const attempts: number[] = [];
  const attempt = (): Promise<string> => {
    attempts.push(performance.now());
    return attempts.length > times ? Promise.resolve("done") : Promise.reject(new Error(`failure ${attempts.length}`));
  };
  return { attempt, attempts };
}

const start = (attempt: () => Promise<string>, options: Partial<RetryOptions> = {}): Promise<unknown> =>
  retry(attempt, { backOff: BACK_OFF, random: () => 0, ...options }).catch((error: unknown) => error);

describe("retry", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("doubles the pauses up to the maximum, and reports each failure", async () => {
    const { attempt, attempts } = failing(4);
    const onFailure = vi.fn();
    const beganMs = performance.now();
    const result = start(attempt, { onFailure });
    await vi.runAllTimersAsync();
    expect(await result).toBe("done");
    expect(attempts.map((ms) => ms - beganMs)).toEqual([0, 100, 300, 700, 1_100]);
    expect(onFailure.mock.calls).toEqual([1, 2, 3, 4].map((count) => [new Error(`failure ${count}`), count]));
  });

  it("pauses for `firstMs` each time if no maximum is given", async () => {
    const { attempt, attempts } = failing(2);
    const beganMs = performance.now();
    void start(attempt, { backOff: { firstMs: 100 } });
    await vi.runAllTimersAsync();
    expect(attempts.map((ms) => ms - beganMs)).toEqual([0, 100, 200]);
  });

  it("shortens pauses at random by at most a quarter", async () => {
    const { attempt, attempts } = failing(1);
    const beganMs = performance.now();
    void start(attempt, { random: () => 1 });
    await vi.runAllTimersAsync();
    expect(attempts.map((ms) => ms - beganMs)).toEqual([0, 75]);
  });

  it("throws the error of the last attempt after `maxAttempts` attempts", async () => {
    const { attempt, attempts } = failing(9);
    const onFailure = vi.fn();
    const result = start(attempt, { maxAttempts: 3, onFailure });
    await vi.runAllTimersAsync();
    expect(await result).toEqual(new Error("failure 3"));
    expect(attempts).toHaveLength(3);
    expect(onFailure).toHaveBeenCalledTimes(2);
  });

  it("begins no attempt after the deadline", async () => {
    const { attempt, attempts } = failing(9);
    const result = start(attempt, { timeoutMs: 699 });
    await vi.runAllTimersAsync();
    expect(await result).toEqual(new Error("failure 3"));
    expect(attempts).toHaveLength(3);
  });

  it("throws at once an error that is not retryable", async () => {
    const { attempt, attempts } = failing(9);
    const isRetryable = (error: unknown): boolean => error instanceof Error && error.message === "failure 1";
    const result = start(attempt, { isRetryable });
    await vi.runAllTimersAsync();
    expect(await result).toEqual(new Error("failure 2"));
    expect(attempts).toHaveLength(2);
  });

  it("ends its pause when it is aborted, and makes no further attempt", async () => {
    const { attempt, attempts } = failing(9);
    const stopped = new AbortController();
    const result = start(attempt, { signal: stopped.signal });
    await vi.advanceTimersByTimeAsync(50);
    stopped.abort();
    expect(await result).toEqual(new Error("failure 1"));
    expect(attempts).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("makes no attempt if the signal was aborted before", async () => {
    const { attempt, attempts } = failing(9);
    expect(await start(attempt, { signal: AbortSignal.abort(new Error("stopped")) })).toEqual(new Error("stopped"));
    expect(attempts).toHaveLength(0);
  });
});
