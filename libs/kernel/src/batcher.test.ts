import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { batcher } from "./batcher.ts";

const MAX_BATCH_DELAY_MS = 25;

/** A batcher whose loads complete when the test calls `complete`. */
function setUp() {
  const loads: { keys: readonly number[]; complete: () => void }[] = [];
  const ask = batcher<number, string>({
    load: (keys) =>
      new Promise((resolve) => {
        loads.push({ keys, complete: () => resolve(keys.map((key) => `value of ${key}`)) });
      }),
    maxBatchSize: 3,
    maxConcurrentBatches: 2,
    maxBatchDelayMs: MAX_BATCH_DELAY_MS,
  });
  const complete = async (index: number): Promise<void> => {
    loads[index]?.complete();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { ask, complete, keys: () => loads.map((load) => load.keys) };
}

describe("a batcher with a maximum batch delay", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("starts at once when no batch is running, and returns to each call the value of its key", async () => {
    const { ask, complete, keys } = setUp();
    const answers = Promise.all([ask(1), ask(2)]);
    await vi.advanceTimersByTimeAsync(0);
    expect(keys()).toEqual([[1, 2]]);
    await complete(0);
    expect(await answers).toEqual(["value of 1", "value of 2"]);
  });

  it("puts calls that arrive during a batch into the next batch", async () => {
    const { ask, complete, keys } = setUp();
    void ask(1);
    await vi.advanceTimersByTimeAsync(1);
    void ask(2);
    await vi.advanceTimersByTimeAsync(MAX_BATCH_DELAY_MS - 2);
    void ask(3);
    await complete(0);
    expect(keys()).toEqual([[1], [2, 3]]);
  });

  it("waits for a running batch for the maximum delay only", async () => {
    const { ask, keys } = setUp();
    void ask(1);
    await vi.advanceTimersByTimeAsync(1);
    void ask(2);
    await vi.advanceTimersByTimeAsync(MAX_BATCH_DELAY_MS - 2);
    expect(keys()).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(2);
    expect(keys()).toEqual([[1], [2]]);
  });

  it("starts a full batch at once, and never exceeds the maximum number of concurrent batches", async () => {
    const { ask, keys } = setUp();
    void ask(1);
    await vi.advanceTimersByTimeAsync(1);
    for (const key of [2, 3, 4, 5, 6, 7, 8]) void ask(key);
    await vi.advanceTimersByTimeAsync(1);
    expect(keys()).toEqual([[1], [2, 3, 4]]);
    await vi.advanceTimersByTimeAsync(10 * MAX_BATCH_DELAY_MS);
    expect(keys()).toHaveLength(2);
  });
});
