import { markerKey, type SampleCheckpoint } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import { describe, expect, it } from "vitest";

import { movedCheckpoint } from "@kapi/contracts";
import { SampleWindows } from "../domain/sample-windows.ts";
import { Restoration } from "./restore-samples.ts";
import { SampleLog } from "./sample-log.ts";
import { UnreadableRecords } from "./unreadable-records.ts";

const SERVER = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f";

const whole: SampleCheckpoint = {
  sequence: 9,
  to: 90,
  offset: 650,
  window: { sequence: 3, from: 30, offset: 550 },
  frame: "{}",
};

function restored(records: readonly { readonly key: string; readonly value: string }[]) {
  const clock = { nowMs: () => 0 };
  const limits = { maxSamples: 300, maxAgeMs: 300_000, budgetBytes: 1 << 20, slabBytes: 1 << 16 };
  const partitionOf = (key: string): number => (key === moved.key ? 4 : 0);
  const log = new SampleLog({ windows: new SampleWindows(limits), clock, partitionOf });
  const restoration = new Restoration(
    new UnreadableRecords({ clock, logger: createLogger({ service: "test", level: "silent" }) }),
    partitionOf,
  );
  for (const [offset, { key, value }] of records.entries()) {
    restoration.addRecords(0, [{ key, value: Buffer.from(value), offset: BigInt(offset) }]);
  }
  const { starts, stale } = restoration.finish(log, new Map([[0, 10n]]), new Map([[0, 800n]]), new Map([[0, 0n]]));
  return { log, start: starts.get(0), stale };
}

const account = (number: number, checkpoint: object) => ({
  key: `${SERVER}/1000000${number}`,
  value: JSON.stringify(checkpoint),
});
const marker = { key: markerKey(0), value: JSON.stringify({ samplesOffset: 700, latestOffset: 50 }) };

/** An account that moved from partition 0 to partition 4 when the topic grew. */
const moved = account(8, whole);

describe("a restart", () => {
  it("leaves out accounts that continue on another partition, also if this partition has their tombstone", () => {
    const { log } = restored([moved, marker]);
    expect(log.find(moved.key)).toBeUndefined();
    const withTombstone = restored([moved, { key: moved.key, value: "" }, marker]);
    expect(withTombstone.log.isDeleted(moved.key)).toBe(false);
  });

  it("continues the sequence of an account that moved to this partition; its samples include no valuation of this partition yet", () => {
    const { log, start } = restored([account(1, movedCheckpoint(whole))]);
    expect(log.find(`${SERVER}/10000001`)).toMatchObject({ sequence: 9, to: -1 });
    expect(start).toBe(10n);
  });

  it("restores each account from its newest checkpoint, and reads the log from the marker on", () => {
    const { log, start } = restored([account(1, { ...whole, sequence: 5, to: 50 }), account(1, whole), marker]);
    expect(log.find(`${SERVER}/10000001`)).toMatchObject({ sequence: 9, to: 90, checkpointed: 9 });
    expect(start).toBe(700n);
  });

  it("uses the highest sequence if a writer that had lost the partition wrote last, and returns this writer's record as stale", () => {
    const older = account(1, { ...whole, sequence: 5, to: 50 });
    const { log, stale } = restored([account(1, whole), older, account(2, whole), marker]);
    expect(log.find(older.key)).toMatchObject({ sequence: 9, to: 90, checkpointed: 9 });
    expect([...stale]).toEqual([[older.key, older.value]]);
    // No record is stale after the highest sequence was written again.
    expect(restored([account(1, whole), older, account(1, whole), marker]).stale.size).toBe(0);
  });

  it("reads the whole log if an account's newest record is not a checkpoint", () => {
    const { log, start } = restored([account(1, whole), account(2, whole), marker, account(1, { frame: 7 })]);
    expect(log.find(`${SERVER}/10000001`)).toBeUndefined();
    expect(log.find(`${SERVER}/10000002`)).toMatchObject({ sequence: 2, to: 30 });
    expect(start).toBe(10n);
  });
});
