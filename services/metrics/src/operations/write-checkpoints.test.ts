import { markerKey, PartitionCheckpoint, SampleCheckpoint } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import { expect, it } from "vitest";

import { encodeSampleHeaders } from "@kapi/contracts/codec";
import { SampleWindows } from "../domain/sample-windows.ts";
import { SampleLog, type SampleRecord } from "./sample-log.ts";
import { Checkpoints } from "./write-checkpoints.ts";

const KEY = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f/10000001";
const OTHER_KEY = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f/10000002";
const PARTITION = 0;

/** The record of a sample; its offset equals its sequence. */
function record(sequence: number): SampleRecord {
  const headers = encodeSampleHeaders({ sequence, from: sequence - 2, to: sequence - 1 });
  return { key: KEY, value: Buffer.from("{}"), headers, offset: BigInt(sequence), timestampMs: 0 };
}

/**
 * Creates a writer of checkpoints for {@link PARTITION}. `latest` has the written records in order;
 * `readBack` passes the records since the last `readBack` to the writer. `home` is the partition of
 * the account.
 */
function start(home = PARTITION) {
  const limits = { maxSamples: 300, maxAgeMs: 300_000, budgetBytes: 1 << 20, slabBytes: 1 << 16 };
  const log = new SampleLog({
    windows: new SampleWindows(limits),
    clock: { nowMs: () => 0 },
    partitionOf: () => home,
  });
  const latest: { key: string; value: string | null }[] = [];
  let gate: PromiseWithResolvers<void> | null = null;
  /** Lets writes to `metrics.latest` wait from `pause` to `resume`. */
  const writing = {
    pause: () => {
      gate = Promise.withResolvers();
    },
    resume: () => gate?.resolve(),
  };
  const checkpoints = new Checkpoints({
    log,
    sink: {
      write: async (_partition, key, value) => {
        await gate?.promise;
        latest.push({ key, value });
      },
    },
    partitions: () => [PARTITION],
    logger: createLogger({ service: "test", level: "silent" }),
  });
  log.listen(checkpoints);
  let read = 0;
  const readBack = (): void => {
    for (const { key, value } of latest.slice(read)) {
      const checkpoint = SampleCheckpoint.safeParse(JSON.parse(value ?? "null"));
      if (checkpoint.success) checkpoints.readBack(key, checkpoint.data);
    }
    read = latest.length;
    checkpoints.readUpTo(PARTITION, read);
  };
  return { log, latest, checkpoints, readBack, writing };
}

it("a process replaces a stale checkpoint that it reads back; the marker has the offset up to which metrics.latest was read back", async () => {
  const { log, latest, checkpoints, readBack } = start();
  log.apply(PARTITION, [record(1)]);
  await checkpoints.write();
  const [stale] = latest;
  readBack();
  log.apply(PARTITION, [record(2)]);
  await checkpoints.write();
  expect(latest.map(({ key }) => key)).toEqual([KEY, markerKey(PARTITION), KEY, markerKey(PARTITION)]);
  // Only two records were read back before this write. Records from offset 2 on may be from another
  // writer.
  expect(PartitionCheckpoint.parse(JSON.parse(latest[3]?.value ?? ""))).toEqual({ samplesOffset: 3, latestOffset: 2 });

  if (stale !== undefined) latest.push(stale);
  await checkpoints.write();
  expect(latest).toHaveLength(5);
  readBack();
  await checkpoints.write();
  expect(latest.slice(5)).toEqual([
    { key: KEY, value: latest[2]?.value },
    { key: markerKey(PARTITION), value: JSON.stringify({ samplesOffset: 3, latestOffset: 5 }) },
  ]);
});

it("a process writes no checkpoint for samples that it reads again after a restart, but writes one for later samples", async () => {
  const { log, latest, checkpoints } = start();
  const window = { sequence: 1, from: -1, offset: 1 };
  const point = { state: { sequence: 0, to: -1 }, acceptFrom: 1, restoreFrame: false, keepsWindowStart: false };
  log.restore(PARTITION, KEY, { sequence: 2, to: 1, offset: 2, window, frame: "{}" }, point);
  log.apply(PARTITION, [record(1), record(2)]);
  await checkpoints.write();
  expect(latest.map(({ key }) => key)).toEqual([markerKey(PARTITION)]);
  log.apply(PARTITION, [record(3)]);
  await checkpoints.write();
  expect(latest.slice(1).map(({ key }) => key)).toEqual([KEY, markerKey(PARTITION)]);
});

it("a process that ends writes the last checkpoints of its own partitions, or of all partitions if a topic was recreated", async () => {
  const other = PARTITION + 1;
  const { log, latest, checkpoints } = start(other);
  log.apply(other, [record(1)]);
  await checkpoints.writeLast([PARTITION]);
  expect(latest.map(({ key }) => key)).toEqual([markerKey(PARTITION)]);
  await checkpoints.writeLast("all");
  expect(latest.slice(1).map(({ key }) => key)).toEqual([KEY, markerKey(other)]);
});

it("writes no marker for a partition that was dropped before the checkpoints of all its samples were written", async () => {
  const { log, latest, checkpoints, writing } = start();
  log.apply(PARTITION, [record(1)]);
  await checkpoints.write();
  const written = latest.length;
  // The write waits at the tombstone of a deleted account.
  log.apply(PARTITION, [record(2), { ...record(1), key: OTHER_KEY, offset: 3n }]);
  log.remove(OTHER_KEY);
  writing.pause();
  const write = checkpoints.write();
  log.drop(PARTITION);
  writing.resume();
  await write;
  expect(latest.slice(written)).toEqual([{ key: OTHER_KEY, value: null }]);
});
