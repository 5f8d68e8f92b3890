import { setImmediate } from "node:timers/promises";

import { retryable, RetryableError } from "@kapi/kafka";
import type { Clock } from "@kapi/kernel";
import { counter, type Logger } from "@kapi/runtime";

import { MinuteAggregator, type ClosedMinute } from "../domain/minute-aggregator.ts";
import { decodeLiveFrame } from "../domain/codec/live-frame.ts";
import { decodeSampleHeaders } from "@kapi/contracts/codec";
import type { SnapshotStore } from "../domain/ports.ts";
import { accountOfKey } from "../domain/sample.ts";
import type { SampleListener, SampleLog, SampleRecord } from "./sample-log.ts";
import type { UnreadableRecords } from "./unreadable-records.ts";

/** Number of records after which other work, such as the live stream, gets a turn. */
const RECORDS_PER_TURN = 50;
/** Maximum number of snapshots that are not stored yet; above it no more samples are read. */
const MAX_UNWRITTEN = 50_000;
/**
 * How long a minute stays open after its end, for late samples. A sample of a later minute closes
 * the minute earlier.
 */
export const MINUTE_GRACE_MS = 10_000;
/** Minimum time between two computations of the offset to commit. */
const OFFSET_INTERVAL_MS = 1_000;
const DAY_MS = 86_400_000;
/** Retention of snapshots (decisions, 9). */
export const KEPT_DAYS = 30;
/**
 * How many days ahead the day partitions of the tables are created. A sample that was measured
 * after these days is from a wrong clock, and its snapshot is not stored.
 */
const DAYS_AHEAD = 2;

const minutesStored = counter(
  "metrics.snapshots.stored",
  "Snapshots, one for an account and a minute, that were stored, or skipped: repeats, days that are not kept, deleted accounts",
  "{snapshot}",
);

/** The dependencies of {@link Snapshots}. */
export interface SnapshotsOptions {
  readonly store: SnapshotStore;
  readonly log: SampleLog;
  /** Reads the end of each partition of `metrics.samples`. */
  readonly ends: () => Promise<ReadonlyMap<number, bigint>>;
  /**
   * Whether topics are being drained before they grow. If so, the open minutes of a partition that
   * is read to its end are stored at once: later samples come from another partition.
   */
  readonly isDraining: () => boolean;
  readonly unreadable: UnreadableRecords;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Partition {
  /** By account key. */
  readonly aggregators: Map<string, MinuteAggregator>;
  /** Closed minutes that are not stored yet. */
  closed: ClosedMinute[];
  /** The offset after the last record that was read. */
  next: number;
  /** The timestamp of the last record that was read. */
  lastRecordMs: number;
  /** The offset below which all samples are stored, and when that offset was computed. */
  openFrom: number;
  openFromAtMs: number;
}

/**
 * Stores snapshots, for the partitions of `metrics.samples` assigned to this process. Snapshots
 * have their own consumer group, which can lag behind the live stream. An offset is committed only
 * if all samples before it are stored. So neither a slow database nor a restart loses a minute.
 * The stored state of an account has the sequence of the newest sample that the state includes.
 *
 * The acceptance rule starts from the stored state. If the log no longer has the next sample, the
 * account continues from a sample that {@link SampleLog} has accepted. Samples are missing if this
 * group did not read for longer than the topic's retention, or if the topic was recreated.
 */
export class Snapshots implements SampleListener {
  readonly #options: SnapshotsOptions;
  #partitions = new Map<number, Partition>();
  #keptUntilMs = 0;
  #running: Promise<void> | null = null;

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  /**
   * Replaces the assigned partitions, and drops all minutes that are not stored. The caller must
   * read each partition from its committed offset.
   */
  assign(partitions: readonly number[]): void {
    this.#partitions = new Map(partitions.map((number) => [number, emptyPartition()]));
  }

  /**
   * Adds records of one partition, in log order.
   * @returns a function that returns an offset below which all samples are stored, computed at most
   * {@link OFFSET_INTERVAL_MS} ago.
   * @throws RetryableError if the partition is not assigned, or while the database is unavailable
   * or too slow.
   */
  async addRecords(number: number, records: readonly SampleRecord[]): Promise<() => bigint> {
    const partition = this.#partitions.get(number);
    if (partition === undefined) throw new RetryableError(`partition ${number} is not assigned`);
    if (this.#unwritten() > MAX_UNWRITTEN) throw new RetryableError("too many snapshots wait for the database");
    await this.#open(partition, records);
    for (const [index, record] of records.entries()) {
      if (index > 0 && index % RECORDS_PER_TURN === 0) await setImmediate();
      this.#record(partition, record);
    }
    const last = records.at(-1);
    if (last !== undefined) {
      partition.next = Number(last.offset) + 1;
      partition.lastRecordMs = last.timestampMs;
    }
    return () => BigInt(this.#committable(partition));
  }

  /**
   * Closes the minutes that ended at least {@link MINUTE_GRACE_MS} ago, and stores all closed
   * minutes. In a partition that is not read to its end, the time of the last record that was read
   * is used instead of the current time. In a partition that is read to its end while topics are
   * drained, all minutes are closed. A call during a running write waits for that write. Rejects on
   * failure.
   */
  write(): Promise<void> {
    this.#running ??= this.#writeAll().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /**
   * Creates the day partitions of the tables from yesterday to {@link DAYS_AHEAD} days ahead, and
   * drops day partitions past their retention.
   */
  async keepDays(): Promise<void> {
    const { store, clock, logger } = this.#options;
    const today = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS;
    await store.createDays(today - DAY_MS, today + DAYS_AHEAD * DAY_MS);
    this.#keptUntilMs = today + (DAYS_AHEAD + 1) * DAY_MS;
    const dropped = await store.dropDaysBefore(today - KEPT_DAYS * DAY_MS);
    if (dropped > 0) logger.info({ dropped }, "days of snapshots were dropped");
  }

  deleted(key: string): void {
    for (const partition of this.#partitions.values()) partition.aggregators.delete(key);
  }

  /** Creates an aggregator, from the stored state, for each account in `records` that has none. */
  async #open(partition: Partition, records: readonly SampleRecord[]): Promise<void> {
    const { store, log } = this.#options;
    const keys = new Set(
      records.map(({ key }) => key).filter((key) => !partition.aggregators.has(key) && !log.isDeleted(key)),
    );
    const accounts = [...keys].map((key) => accountOfKey(key)).filter((account) => account !== null);
    if (accounts.length === 0) return;
    const stored = await retryable("the stored states cannot be read", () => store.states(accounts));
    for (const key of keys) {
      const account = accountOfKey(key);
      if (account !== null && !log.isDeleted(key))
        partition.aggregators.set(key, new MinuteAggregator(account, stored.get(key) ?? null));
    }
  }

  #record(partition: Partition, record: SampleRecord): void {
    const aggregator = partition.aggregators.get(record.key);
    const range = decodeSampleHeaders(record.headers);
    if (aggregator === undefined || range === null) return;
    const sample = { range, frameBytes: record.value.length, offset: Number(record.offset) };
    if (!aggregator.isNext(sample) && !this.#isBeyondGap(aggregator, record.key, range.sequence, sample.offset)) return;
    const content = decodeLiveFrame(record.value);
    if ("fault" in content) {
      this.#options.unreadable.report("sample", record.key, content);
      aggregator.skipSample(sample);
      return;
    }
    const closed = aggregator.addSample(sample, content);
    if (closed !== null) partition.closed.push(closed);
  }

  /** Whether the account continues from this sample, although samples before it are missing. */
  #isBeyondGap(aggregator: MinuteAggregator, key: string, sequence: number, offset: number): boolean {
    return sequence > aggregator.sequence && this.#options.log.isAccepted(key, sequence, offset);
  }

  async #writeAll(): Promise<void> {
    const { store, clock, isDraining } = this.#options;
    const ends = await this.#options.ends();
    const todayMs = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS;
    for (const [number, partition] of this.#partitions) {
      // In a partition that is read to its end, minutes close by the clock. Otherwise they close by
      // the time of the last record that was read, so that a late read stores the same snapshots.
      const caughtUp = BigInt(partition.next) >= (ends.get(number) ?? 0n);
      const nowMs = isDraining() ? Number.POSITIVE_INFINITY : clock.nowMs();
      const horizonMs = (caughtUp ? nowMs : partition.lastRecordMs) - MINUTE_GRACE_MS;
      for (const aggregator of partition.aggregators.values()) {
        const closed = aggregator.closeEnded(horizonMs);
        if (closed !== null) partition.closed.push(closed);
      }
      const closed = [...partition.closed];
      const firstMs = todayMs - KEPT_DAYS * DAY_MS;
      for (const day of oldDays(closed, firstMs, todayMs - DAY_MS)) await store.createDays(day, day);
      await store.write(closed, { firstMs, beforeMs: this.#keptUntilMs });
      partition.closed = partition.closed.slice(closed.length);
      minutesStored.add(closed.length);
    }
  }

  #unwritten(): number {
    let waiting = 0;
    for (const { closed } of this.#partitions.values()) waiting += closed.length;
    return waiting;
  }

  /** The offset to commit, at most {@link OFFSET_INTERVAL_MS} old. */
  #committable(partition: Partition): number {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - partition.openFromAtMs < OFFSET_INTERVAL_MS) return partition.openFrom;
    let lowest = partition.next;
    for (const { fromOffset } of partition.closed) lowest = Math.min(lowest, fromOffset);
    for (const { openFrom } of partition.aggregators.values()) lowest = Math.min(lowest, openFrom ?? lowest);
    partition.openFrom = lowest;
    partition.openFromAtMs = nowMs;
    return lowest;
  }
}

/**
 * Returns the days (UTC) of these snapshots from `firstMs` to before `beforeMs`. There are such
 * days if the log is read late, or if a valuation has an old `measuredAt`.
 */
function oldDays(closed: readonly ClosedMinute[], firstMs: number, beforeMs: number): Set<number> {
  const days = closed.map(({ snapshot }) => Math.floor(snapshot.measuredAtMs / DAY_MS) * DAY_MS);
  return new Set(days.filter((day) => day >= firstMs && day < beforeMs));
}

function emptyPartition(): Partition {
  return {
    aggregators: new Map(),
    closed: [],
    next: 0,
    lastRecordMs: Number.NEGATIVE_INFINITY,
    openFrom: 0,
    openFromAtMs: Number.NEGATIVE_INFINITY,
  };
}
