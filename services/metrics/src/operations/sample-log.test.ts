import { TestClock } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import { encodeSampleHeaders } from "@kapi/contracts/codec";
import { SampleWindows } from "../domain/sample-windows.ts";
import { DELETED_KEPT_MS, SampleLog, type SampleRecord } from "./sample-log.ts";

const KEY = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f/10000001";
const WINDOW_MS = 300_000;

function newLog(clock = new TestClock(0)): { log: SampleLog; accepted: number[] } {
  const windows = new SampleWindows({
    maxSamples: 300,
    maxAgeMs: WINDOW_MS,
    budgetBytes: 1_024 * 1_024,
    slabBytes: 64 * 1_024,
  });
  const log = new SampleLog({ windows, clock, partitionOf: () => 0 });
  const accepted: number[] = [];
  log.listen({ accepted: (_stream, range) => void accepted.push(range.sequence) });
  return { log, accepted };
}

function record(offset: number, sequence: number, from: number, to: number): SampleRecord {
  const headers = encodeSampleHeaders({ sequence, from, to });
  return { key: KEY, value: Buffer.from(`{"at":${offset}}`), headers, offset: BigInt(offset), timestampMs: 0 };
}

describe("the sample log", () => {
  it("accepts only consecutive samples", () => {
    const { log, accepted } = newLog();
    const good = [record(0, 1, -1, 4), record(3, 2, 4, 6), record(6, 3, 6, 9)];
    const bad = [record(1, 1, -1, 5), record(2, 3, 4, 6), record(4, 2, 4, 6), record(5, 3, 4, 7)];
    log.apply(
      0,
      [...good, ...bad].toSorted((left, right) => Number(left.offset - right.offset)),
    );
    expect(accepted).toEqual([1, 2, 3]);
    expect(log.rejected).toBe(4);
    expect(log.find(KEY)).toMatchObject({ sequence: 3, to: 9, offset: 6, partition: 0 });
    expect(log.position(0)).toBe(7);
  });

  it("ignores samples on another partition than the account's", () => {
    const { log, accepted } = newLog();
    log.apply(0, [record(0, 1, -1, 4)]);
    log.apply(1, [record(0, 2, 4, 5)]);
    expect(accepted).toEqual([1]);
  });

  it("continues from a checkpoint: it skips earlier records; without `keepsWindowStart`, new checkpoints get the next accepted sample as window start", () => {
    const { log, accepted } = newLog();
    const checkpoint = { sequence: 7, to: 70, offset: 50, window: { sequence: 3, from: 20, offset: 10 }, frame: "{}" };
    const point = { state: { sequence: 7, to: 70 }, acceptFrom: 51, restoreFrame: true, keepsWindowStart: false };
    log.restore(0, KEY, checkpoint, point);
    log.apply(0, [record(49, 8, 70, 71), record(51, 8, 70, 72)]);
    expect(accepted).toEqual([8]);
    const stream = log.find(KEY);
    expect(stream && log.windowStartOf(stream)).toEqual({ sequence: 8, from: 70, offset: 51 });
  });

  it("with `keepsWindowStart`, gives new checkpoints the window start of the restored checkpoint, for the maximum age of a window", () => {
    const clock = new TestClock(0);
    const { log } = newLog(clock);
    const window = { sequence: 3, from: 20, offset: 10 };
    const point = { state: { sequence: 7, to: 70 }, acceptFrom: 51, restoreFrame: true, keepsWindowStart: true };
    log.restore(0, KEY, { sequence: 7, to: 70, offset: 50, window, frame: "{}" }, point);
    log.apply(0, [record(51, 8, 70, 72)]);
    const windowStart = () => log.windowStartOf(log.find(KEY) ?? expect.fail("the account is unknown"));
    expect(windowStart()).toEqual(window);
    clock.set(WINDOW_MS + 1);
    log.apply(0, [{ ...record(52, 9, 72, 73), timestampMs: WINDOW_MS }]);
    expect(windowStart()).toMatchObject({ offset: 52 });
  });

  it("forgets the accounts of a dropped partition, and can read the partition again", () => {
    const { log, accepted } = newLog();
    log.apply(0, [record(0, 1, -1, 4)]);
    log.drop(1);
    expect(log.size).toBe(1);
    log.drop(0);
    expect([log.size, log.position(0), log.isDeleted(KEY)]).toEqual([0, 0, false]);
    log.apply(0, [record(0, 1, -1, 4), record(1, 2, 4, 5)]);
    expect(accepted).toEqual([1, 1, 2]);
  });

  it("drops the samples of a deleted account, and accepts no later sample", () => {
    const { log, accepted } = newLog();
    log.apply(0, [record(0, 1, -1, 4)]);
    log.remove(KEY);
    log.apply(0, [record(1, 2, 4, 5), record(2, 1, -1, 4)]);
    expect(accepted).toEqual([1]);
    expect(log.find(KEY)).toBeUndefined();
    expect(log.isDeleted(KEY)).toBe(true);
  });

  it("forgets a deletion after 8 days, also if the deletion is read again", () => {
    const clock = new TestClock(DELETED_KEPT_MS);
    const { log } = newLog(clock);
    log.remove(KEY, 0);
    log.remove("another", 1);
    log.forgetDeleted();
    expect(log.isDeleted(KEY)).toBe(true);
    clock.set(DELETED_KEPT_MS + 1);
    log.remove(KEY);
    log.forgetDeleted();
    expect([log.isDeleted(KEY), log.isDeleted("another")]).toEqual([false, true]);
  });
});
