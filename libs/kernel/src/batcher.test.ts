import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { batcher } from "./batcher.ts";

const PATIENCE_MS = 25;

/** A batcher whose loads end by a call. */
function setUp() {
  const loads: { keys: readonly number[]; end: () => void }[] = [];
  const ask = batcher<number, string>({
    load: (keys) =>
      new Promise((resolve) => {
        loads.push({ keys, end: () => resolve(keys.map((key) => `value of ${key}`)) });
      }),
    maxBatchSize: 3,
    maxConcurrentBatches: 2,
    patienceMs: PATIENCE_MS,
  });
  const end = async (index: number): Promise<void> => {
    loads[index]?.end();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { ask, end, keys: () => loads.map((load) => load.keys) };
}

describe("a batcher with patience", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("asks at once while nothing is under way, and gives everybody the value of their own key", async () => {
    const { ask, end, keys } = setUp();
    const answers = Promise.all([ask(1), ask(2)]);
    await vi.advanceTimersByTimeAsync(0);
    expect(keys()).toEqual([[1, 2]]);
    await end(0);
    expect(await answers).toEqual(["value of 1", "value of 2"]);
  });

  it("lets what comes meanwhile share the batch after the one under way", async () => {
    const { ask, end, keys } = setUp();
    void ask(1);
    await vi.advanceTimersByTimeAsync(1);
    void ask(2);
    await vi.advanceTimersByTimeAsync(PATIENCE_MS - 2);
    void ask(3);
    await end(0);
    expect(keys()).toEqual([[1], [2, 3]]);
  });

  it("waits for the batch under way no longer than that", async () => {
    const { ask, keys } = setUp();
    void ask(1);
    await vi.advanceTimersByTimeAsync(1);
    void ask(2);
    await vi.advanceTimersByTimeAsync(PATIENCE_MS - 2);
    expect(keys()).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(2);
    expect(keys()).toEqual([[1], [2]]);
  });

  it("does not wait with a full batch, and never has more under way than it may", async () => {
    const { ask, keys } = setUp();
    void ask(1);
    await vi.advanceTimersByTimeAsync(1);
    for (const key of [2, 3, 4, 5, 6, 7, 8]) void ask(key);
    await vi.advanceTimersByTimeAsync(1);
    expect(keys()).toEqual([[1], [2, 3, 4]]);
    await vi.advanceTimersByTimeAsync(10 * PATIENCE_MS);
    expect(keys()).toHaveLength(2);
  });
});
