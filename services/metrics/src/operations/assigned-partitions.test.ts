import { createLogger } from "@kapi/runtime";
import { eventually, TestClock } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import { AssignedPartitions, RELEASED_KEPT_MS } from "./assigned-partitions.ts";

const TIMEOUT_MS = 20;

/** The partitions of a process, and what it restores and drops. */
function start() {
  const clock = new TestClock(0);
  const calls: string[] = [];
  const waiting: PromiseWithResolvers<void>[] = [];
  const partitions = new AssignedPartitions({
    restore: (restored) => {
      calls.push(`restore ${restored.join()}`);
      const outcome = Promise.withResolvers<void>();
      waiting.push(outcome);
      return outcome.promise;
    },
    drop: (dropped) => {
      calls.push(`drop ${dropped.join()}`);
      return Promise.resolve();
    },
    clock,
    logger: createLogger({ service: "test", level: "silent" }),
  });
  /** Ends the oldest running restoration. */
  const end = async (failure?: Error): Promise<void> => {
    await eventually(() => waiting.length > 0);
    if (failure === undefined) waiting.shift()?.resolve();
    else waiting.shift()?.reject(failure);
  };
  return { clock, calls, partitions, end };
}

describe("the partitions that are assigned to a process", () => {
  it("are restored once for both consumer groups, and do not count as restored before the restoration has ended", async () => {
    const { partitions, calls, end } = start();
    partitions.assign("valuations", [0, 1]);
    partitions.assign("snapshots", [1, 2]);
    expect([0, 2, 3].map((partition) => partitions.isRead(partition))).toEqual([true, true, false]);
    await expect(partitions.restored(0, TIMEOUT_MS)).rejects.toThrow("partition 0 was not restored");
    await expect(partitions.restored(3, TIMEOUT_MS)).rejects.toThrow("partition 3 is not assigned");
    const all = partitions.allRestored();
    await end();
    await partitions.restored(1, TIMEOUT_MS);
    await end();
    await all;
    expect(calls).toEqual(["restore 0,1", "restore 2"]);
  });

  it("are restored again after a failure", async () => {
    const { partitions, calls, end } = start();
    partitions.assign("valuations", [0]);
    await end(new Error("no broker answers"));
    await end();
    await partitions.allRestored();
    expect(calls).toEqual(["restore 0", "restore 0"]);
  });

  it("are dropped 30 s after the last group has released them, and restored if they return after that", async () => {
    const { partitions, calls, clock, end } = start();
    partitions.assign("valuations", [0, 1]);
    partitions.assign("snapshots", [1]);
    await end();
    await partitions.allRestored();
    partitions.assign("valuations", []);
    clock.set(RELEASED_KEPT_MS - 1);
    partitions.dropReleased();
    expect(partitions.isRead(0)).toBe(true);
    // A partition that returns in time needs no restoration.
    partitions.assign("valuations", [0]);
    await partitions.restored(0, TIMEOUT_MS);
    partitions.assign("valuations", []);
    clock.set(2 * RELEASED_KEPT_MS - 1);
    partitions.dropReleased();
    await eventually(() => !partitions.isRead(0));
    expect(partitions.isRead(1)).toBe(true);
    partitions.assign("valuations", [0]);
    await end();
    await partitions.restored(0, TIMEOUT_MS);
    expect(calls).toEqual(["restore 0,1", "drop 0", "restore 0"]);
  });

  it("do not delay the start if they are released before they are restored", async () => {
    const { partitions, calls, end } = start();
    partitions.assign("valuations", [0]);
    await eventually(() => calls.length === 1);
    partitions.assign("valuations", [1]);
    const all = partitions.allRestored();
    await end(new Error("no broker answers"));
    await end();
    await all;
    expect(calls).toEqual(["restore 0", "drop 0", "restore 1"]);
  });
});
