import { createLogger } from "@kapi/runtime";
import { measurements, TestClock } from "@kapi/testkit";
import { accountKey } from "@kapi/contracts";
import { expect, test } from "vitest";

import type { AggregatorState, ClosedMinute } from "../domain/minute-aggregator.ts";
import { encodeSampleHeaders } from "@kapi/contracts/codec";
import type { SnapshotStore } from "../domain/ports.ts";
import { encodeLiveFrame } from "../domain/codec/live-frame.ts";
import { SampleWindows } from "../domain/sample-windows.ts";
import { SampleLog, type SampleRecord } from "./sample-log.ts";
import { MINUTE_GRACE_MS, Snapshots } from "./store-snapshots.ts";
import { UnreadableRecords } from "./unreadable-records.ts";

const account = { serverId: "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01", accountNumber: "10000001" };
const firstMs = Date.parse("2026-03-01T10:00:00.000Z");
const MINUTE_MS = 60_000;
const measured = measurements();

/** The record of a sample. Its offset is 10 times its sequence; its time is `measuredAt`. */
function record(sequence: number, seconds: number): SampleRecord {
  const range = { sequence, from: sequence - 2, to: sequence - 1 };
  const atMs = firstMs + seconds * 1_000;
  const measuredAt = new Date(atMs).toISOString();
  const numbers = { balanceMinor: 1, equityMinor: sequence, marginMinor: 0, freeMarginMinor: 1 };
  const values = { ...numbers, marginLevel: 0, openPositionCount: 0 };
  const frame = encodeLiveFrame(account, { range, values, measuredAt, minimum: { equityMinor: sequence, measuredAt } });
  const key = accountKey(account.serverId, account.accountNumber);
  return { key, value: frame, headers: encodeSampleHeaders(range), offset: BigInt(sequence * 10), timestampMs: atMs };
}

function start(
  stored: AggregatorState | null,
  clock = new TestClock(firstMs),
  dropDaysBefore: SnapshotStore["dropDaysBefore"] = () => Promise.resolve(0),
) {
  const written: ClosedMinute[] = [];
  const keptBefore: number[] = [];
  const key = accountKey(account.serverId, account.accountNumber);
  const store: SnapshotStore = {
    states: () => Promise.resolve(new Map(stored === null ? [] : [[key, stored]])),
    write: (minutes, { beforeMs }) => {
      written.push(...minutes);
      keptBefore.push(beforeMs);
      return Promise.resolve();
    },
    createDays: () => Promise.resolve(),
    dropDaysBefore,
    upsertStatuses: () => Promise.resolve(),
    deleteAccount: () => Promise.resolve(),
    deleted: async function* deleted() {},
  };
  const windows = new SampleWindows({ maxSamples: 10, maxAgeMs: 300_000, budgetBytes: 1 << 20, slabBytes: 1 << 16 });
  const log = new SampleLog({ windows, clock, partitionOf: () => 0 });
  const ends = new Map([[0, 0n]]);
  const draining = { now: false };
  const warnings: string[] = [];
  const destination = { write: (line: string) => void warnings.push(line) };
  const logger = createLogger({ service: "test", level: "warn", destination });
  const unreadable = new UnreadableRecords({ clock, logger });
  const snapshots = new Snapshots({
    store,
    log,
    ends: () => Promise.resolve(ends),
    isDraining: () => draining.now,
    unreadable,
    clock,
    logger,
  });
  snapshots.assign([0]);
  return { snapshots, log, written, keptBefore, warnings, clock, ends, draining };
}

const shown = (written: readonly ClosedMinute[]) => written.map(({ snapshot }) => snapshot.sequence);

test("a log that is read late gives the same snapshots as a log that is read in time", async () => {
  const { snapshots, written, clock, ends } = start(null, new TestClock(firstMs + 60 * MINUTE_MS));
  ends.set(0, 51n);
  await snapshots.addRecords(0, [record(1, 1), record(2, 2)]);
  await snapshots.write();
  expect(shown(written)).toEqual([]);
  await snapshots.addRecords(0, [record(3, 3), record(4, 61), record(5, 62)]);
  await snapshots.write();
  expect(shown(written)).toEqual([3, 5]);
  expect(clock.nowMs()).toBe(firstMs + 60 * MINUTE_MS);
});

test("a minute is closed some time after its end, so that its snapshot includes its last samples", async () => {
  const { snapshots, written, clock, ends } = start(null);
  ends.set(0, 11n);
  await snapshots.addRecords(0, [record(1, 1)]);
  clock.advance(MINUTE_MS + MINUTE_GRACE_MS - 1);
  await snapshots.write();
  expect(shown(written)).toEqual([]);
  clock.advance(1);
  await snapshots.write();
  expect(shown(written)).toEqual([1]);
});

test("minutes of new days are stored, also while the old days cannot be dropped", async () => {
  const cannotDrop = () => Promise.reject(new Error("the old day is locked"));
  const { snapshots, keptBefore, clock, ends } = start(null, new TestClock(firstMs), cannotDrop);
  await expect(snapshots.keepDays()).rejects.toThrow("the old day is locked");
  ends.set(0, 11n);
  await snapshots.addRecords(0, [record(1, 1)]);
  clock.advance(2 * MINUTE_MS);
  await snapshots.write();
  expect(keptBefore.at(-1)).toBeGreaterThan(clock.nowMs());
});

test("an offset is committed only if all samples before it are stored", async () => {
  const { snapshots, clock, ends } = start(null);
  const committable = await snapshots.addRecords(0, [record(1, 1)]);
  expect(committable()).toBe(10n);
  clock.advance(2 * MINUTE_MS);
  ends.set(0, 11n);
  await snapshots.write();
  clock.advance(MINUTE_MS);
  expect(committable()).toBe(11n);
});

test("while topics are drained before they grow, a minute is stored before its end", async () => {
  const { snapshots, written, clock, ends, draining } = start(null);
  const committable = await snapshots.addRecords(0, [record(1, 1)]);
  ends.set(0, 11n);
  await snapshots.write();
  expect(shown(written)).toEqual([]);
  draining.now = true;
  await snapshots.write();
  expect(shown(written)).toEqual([1]);
  clock.advance(MINUTE_MS);
  expect(committable()).toBe(11n);
});

test("an account whose next sample is no longer in the log continues from the first accepted sample that is still in the log", async () => {
  const drawdown = { equityMinor: 1, dayMs: firstMs, dayStartMinor: 1, dayLowMinor: 1, peakMinor: 1, lowMinor: 1 };
  const { snapshots, log, written, clock, ends } = start({ log: { sequence: 1, to: 0 }, drawdown });
  log.apply(0, [record(1, 1), record(2, 2), record(3, 3), record(4, 4)]);
  const rejected = { ...record(3, 3), offset: 25n };
  await snapshots.addRecords(0, [rejected, record(3, 3), record(4, 4)]);
  clock.advance(10 * MINUTE_MS);
  ends.set(0, 41n);
  await snapshots.write();
  expect(written).toMatchObject([{ snapshot: { sequence: 4 }, fromOffset: 30 }]);
});

test("samples that cannot be decoded are skipped, at most 10 a minute are logged, and the next sample is stored", async () => {
  const { snapshots, written, warnings, clock, ends } = start(null);
  const damaged = Array.from({ length: 30 }, (_, index) => ({ ...record(index + 1, 1), value: Buffer.from("{") }));
  await snapshots.addRecords(0, [...damaged, record(31, 2)]);
  clock.advance(10 * MINUTE_MS);
  ends.set(0, 311n);
  await snapshots.write();
  expect(shown(written)).toEqual([31]);
  expect(measured.total("metrics.records.unreadable", { record: "sample", reason: "not_json" })).toBe(30);
  expect(warnings.filter((line) => line.includes("cannot be decoded"))).toHaveLength(10);
});
