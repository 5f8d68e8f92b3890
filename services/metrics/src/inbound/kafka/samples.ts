import { setImmediate } from "node:timers/promises";

import { markerKey, TOPICS } from "@kapi/contracts";
import {
  beginOffsets,
  startLogReader,
  type KafkaConnection,
  type LogReader,
  type LogReaderOptions,
  type Message,
  offsetsForTime,
} from "@kapi/kafka";
import type { Clock } from "@kapi/kernel";
import type { Logger, Scope } from "@kapi/runtime";

import { decodeCheckpoint } from "../../domain/codec/checkpoint.ts";
import { positionsOf } from "../../domain/topic-position.ts";
import { Restoration } from "../../operations/restore-samples.ts";
import type { SampleLog, SampleRecord } from "../../operations/sample-log.ts";
import type { TopicWatch } from "../../operations/topic-watch.ts";
import type { UnreadableRecords } from "../../operations/unreadable-records.ts";
import type { Checkpoints } from "../../operations/write-checkpoints.ts";

const RECORDS_PER_TURN = 300;
/**
 * Minimum time between fetches under load. It makes batches larger, and delays samples by at most
 * this time.
 */
const BUSY_INTERVAL_MS = 5;
/** Maximum time of an empty fetch: an added partition waits for the end of the running fetch. */
const IDLE_WAIT_MS = 250;
/**
 * New checkpoints keep the window start of a restored checkpoint only up to this age, as a multiple
 * of `windowMs`. The multiple is more than 1: a window start can be `windowMs` old when its
 * checkpoint is written, and the account is restored later.
 */
const OLDEST_WINDOWS = 2;

/** The options of the reader of samples. */
export interface SamplesOptions {
  readonly kafka: KafkaConnection;
  readonly scope: Scope;
  readonly log: SampleLog;
  /** Null if this process writes no checkpoints. */
  readonly checkpoints: Checkpoints | null;
  /** The partition of an account's samples. */
  readonly partitionOf: (key: string) => number;
  readonly watch: TopicWatch;
  readonly unreadable: UnreadableRecords;
  /**
   * Whether consumer groups assign partitions to this process while it runs. Then partitions are
   * read from their checkpoints on, without the windows, so that a takeover is short.
   */
  readonly isAssigned: boolean;
  /** Maximum age of the samples of a window. */
  readonly windowMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}

/** The reader of `metrics.samples` and `metrics.latest`. */
export interface SampleReader {
  readonly reader: LogReader;
  /**
   * Restores the accounts of partitions from `metrics.latest`, and reads the partitions of
   * `metrics.samples` until `drop`. Resolves when all records that the partitions had at the call
   * have been handled. If the promise rejects, none of the partitions is read.
   */
  readonly restore: (partitions: readonly number[]) => Promise<void>;
  /** Stops reading partitions and forgets their accounts. */
  readonly drop: (partitions: readonly number[]) => Promise<void>;
}

/** Starts the reader of `metrics.samples` and `metrics.latest`, without partitions. */
export async function startSampleReader(options: SamplesOptions): Promise<SampleReader> {
  const { kafka, scope, log, checkpoints, watch, clock, logger, fatal } = options;
  const first = watch.positions.samples;
  /** Partitions whose checkpoints are being read. */
  const restoring = new Map<number, Restoration>();
  const latest = await scope.start("checkpoints", () => startCheckpointReader(options, restoring));
  const reader = await scope.start("samples", () =>
    startLogReader(kafka, {
      topic: TOPICS.metricsSamples,
      from: "nothing",
      onBatch: async (partition, records) => {
        // Offsets go back only if the topic was recreated.
        if ((records[0]?.offset ?? 0n) + BigInt(first) < BigInt(log.position(partition))) await watch.check();
        await applyInTurns(log, partition, records, BigInt(first));
      },
      busyIntervalMs: BUSY_INTERVAL_MS,
      ...idleWait(options),
      logger,
      fatal: (error) => void watch.fail(error, fatal),
    }),
  );
  const drop = async (partitions: readonly number[]): Promise<void> => {
    await Promise.all([latest.remove(partitions), reader.remove(partitions)]);
    for (const partition of partitions) {
      restoring.delete(partition);
      log.drop(partition);
    }
  };
  const restore = async (partitions: readonly number[]): Promise<void> => {
    const startedMs = clock.nowMs();
    try {
      const starts = await restoreAccounts(options, latest, restoring, partitions);
      if (checkpoints === null) await latest.remove(partitions);
      // A recreated `metrics.latest` lacks checkpoints, and no sample may be numbered without them.
      // Then the check rejects.
      await allEnded(watch.check(), reader.add(starts));
    } catch (error) {
      await drop(partitions);
      throw error;
    }
    logger.info({ partitions, accounts: log.size, elapsedMs: clock.nowMs() - startedMs }, "samples restored");
  };
  return { reader, restore, drop };
}

/** Restores the accounts of partitions; returns the offsets from which to read their samples. */
async function restoreAccounts(
  options: SamplesOptions,
  latest: LogReader,
  restoring: Map<number, Restoration>,
  partitions: readonly number[],
): Promise<Map<number, bigint>> {
  const { kafka, log, watch, unreadable, isAssigned, windowMs, clock } = options;
  const first = watch.positions.samples;
  const restoration = new Restoration(unreadable, options.partitionOf);
  for (const partition of partitions) restoring.set(partition, restoration);
  const nowMs = clock.nowMs();
  const [begins, windowOffsets, oldestWindows] = await allEnded(
    beginOffsets(kafka, TOPICS.metricsSamples),
    offsetsForTime(kafka, TOPICS.metricsSamples, nowMs - (isAssigned ? 0 : windowMs)),
    offsetsForTime(kafka, TOPICS.metricsSamples, nowMs - OLDEST_WINDOWS * windowMs),
    latest.add(new Map(partitions.map((partition) => [partition, "beginning"]))),
  );
  const { starts, stale } = restoration.finish(
    log,
    positionsOf(new Map(Array.from(begins).filter(([partition]) => partitions.includes(partition))), first),
    positionsOf(windowOffsets, first),
    positionsOf(oldestWindows, first),
  );
  for (const partition of partitions) restoring.delete(partition);
  for (const [key, value] of stale) readBack(options, key, Buffer.from(value));
  return positionsOf(starts, -first);
}

/** Like `Promise.all`, but rejects only after all have ended, so that partitions can be dropped. */
async function allEnded<T extends readonly Promise<unknown>[]>(
  ...works: T
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

/**
 * Applies a batch in parts, so that sockets can send in between. Otherwise samples of a long batch
 * could be dropped from the windows unsent.
 */
async function applyInTurns(
  log: SampleLog,
  partition: number,
  records: readonly Message[],
  first: bigint,
): Promise<void> {
  for (let start = 0; start < records.length; start += RECORDS_PER_TURN) {
    if (start > 0) await setImmediate();
    log.apply(
      partition,
      records.slice(start, start + RECORDS_PER_TURN).map((record) => sampleRecord(record, first)),
    );
  }
}

/** Converts a record of `metrics.samples`; `first` is the position of offset 0 in the topic. */
export function sampleRecord({ key, value, headers, offset, timestampMs }: Message, first: bigint): SampleRecord {
  return { key, value, headers, offset: offset + first, timestampMs };
}

/**
 * Starts to read `metrics.latest`. Checkpoints of partitions in `restoring` restore their accounts.
 * Checkpoints of other partitions are only compared with the accepted samples, and replaced if they
 * are stale.
 */
function startCheckpointReader(options: SamplesOptions, restoring: ReadonlyMap<number, Restoration>) {
  const { kafka, checkpoints, watch, logger, fatal } = options;
  const first = BigInt(watch.positions.latest);
  return startLogReader(kafka, {
    topic: TOPICS.metricsLatest,
    from: "nothing",
    ...idleWait(options),
    onBatch: (partition, records) => {
      const positioned = records.map(({ key, value, offset }) => ({ key, value, offset: offset + first }));
      const restoration = restoring.get(partition);
      if (restoration !== undefined) restoration.addRecords(partition, positioned);
      else
        for (const record of positioned)
          if (record.key !== markerKey(partition)) readBack(options, record.key, record.value);
      const last = positioned.at(-1);
      if (last !== undefined) checkpoints?.readUpTo(partition, Number(last.offset) + 1);
    },
    logger,
    fatal: (error) => void watch.fail(error, fatal),
  });
}

function idleWait({ isAssigned }: SamplesOptions): Pick<LogReaderOptions, "idleWaitMs"> {
  return isAssigned ? { idleWaitMs: IDLE_WAIT_MS } : {};
}

/** Lets {@link Checkpoints} replace a checkpoint if it is stale. */
function readBack({ checkpoints, unreadable }: SamplesOptions, key: string, value: Buffer): void {
  if (value.length === 0 || checkpoints === null) return;
  const checkpoint = decodeCheckpoint(value.toString("utf8"));
  if ("fault" in checkpoint) unreadable.report("checkpoint", key, checkpoint);
  else checkpoints.readBack(key, checkpoint);
}
