import { setImmediate } from "node:timers/promises";

import { TOPICS } from "@kapi/contracts";
import {
  beginOffsets,
  startLogReader,
  type KafkaConnection,
  type LogReader,
  type Message,
  offsetsForTime,
} from "@kapi/kafka";
import type { Clock } from "@kapi/kernel";
import type { Logger, Scope } from "@kapi/runtime";

import { decodeCheckpoint } from "../../domain/codec/checkpoint.ts";
import type { SampleProgress } from "../../domain/ports.ts";
import { markerKey } from "../../domain/restore.ts";
import { positionsOf } from "../../domain/topic-position.ts";
import { Restoration } from "../../operations/restore-samples.ts";
import type { SampleLog, SampleRecord } from "../../operations/sample-log.ts";
import type { TopicWatch } from "../../operations/topic-watch.ts";
import type { UnreadableRecords } from "../../operations/unreadable-records.ts";
import type { Checkpoints } from "../../operations/write-checkpoints.ts";

const RECORDS_PER_TURN = 300;
/** Minimum time between fetches under load: samples are this much later, in larger batches. */
const BUSY_INTERVAL_MS = 5;

export interface SamplesOptions {
  readonly kafka: KafkaConnection;
  readonly scope: Scope;
  readonly log: SampleLog;
  /** Null if this process writes no checkpoints. */
  readonly checkpoints: Checkpoints | null;
  /** The partitions that this process reads. */
  readonly isRead: (partition: number) => boolean;
  readonly watch: TopicWatch;
  readonly unreadable: UnreadableRecords;
  readonly windowMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}

/**
 * Restores the accounts of the partitions from `metrics.latest`, then reads `metrics.samples` from
 * the restored offsets until the process stops. Resolves once the samples have been read to their
 * end. `partitions` is the number of all partitions.
 */
export async function startSampleReader(
  options: SamplesOptions,
): Promise<{ reader: LogReader; progress: SampleProgress; partitions: number }> {
  const { kafka, scope, log, isRead, watch, logger, fatal } = options;
  const first = watch.positions.samples;
  const restoration = await readCheckpoints(options);
  const startedMs = options.clock.nowMs();
  const [allBegins, windowOffsets] = await Promise.all([
    beginOffsets(kafka, TOPICS.metricsSamples),
    offsetsForTime(kafka, TOPICS.metricsSamples, startedMs - options.windowMs),
  ]);
  const begins = new Map(Array.from(allBegins).filter(([partition]) => isRead(partition)));
  const { starts, stale } = restoration.finish(log, positionsOf(begins, first), positionsOf(windowOffsets, first));
  for (const [key, value] of stale) readBack(options, key, Buffer.from(value));
  const from = positionsOf(starts, -first);
  const reader = await scope.start("samples", () =>
    startLogReader(kafka, {
      topic: TOPICS.metricsSamples,
      from,
      isRead,
      onBatch: async (partition, records) => {
        // Offsets go back only if the topic was recreated.
        if ((records[0]?.offset ?? 0n) + BigInt(first) < BigInt(log.position(partition))) await watch.check();
        await applyInTurns(log, partition, records, BigInt(first));
      },
      busyIntervalMs: BUSY_INTERVAL_MS,
      logger,
      fatal: (error) => void watch.fail(error, fatal),
    }),
  );
  await reader.caughtUp;
  logger.info({ accounts: log.size, elapsedMs: options.clock.nowMs() - startedMs }, "samples restored");
  const progress: SampleProgress = {
    reached: (partition, end, timeoutMs) =>
      isRead(partition) ? reader.waitFor(new Map([[partition, end]]), timeoutMs) : Promise.resolve(),
  };
  return { reader, progress, partitions: allBegins.size };
}

/**
 * Lets the sockets send between the records of a long batch. Otherwise samples would be dropped
 * from the windows unsent.
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

/** A record of `metrics.samples` in a topic that begins at position `first`. */
export function sampleRecord({ key, value, headers, offset, timestampMs }: Message, first: bigint): SampleRecord {
  return { key, value, headers, offset: offset + first, timestampMs };
}

/**
 * Reads `metrics.latest` to its end. A process that writes checkpoints continues reading, to
 * replace checkpoints of stale writers.
 */
async function readCheckpoints(options: SamplesOptions): Promise<Restoration> {
  const { kafka, scope, checkpoints, isRead, watch, unreadable, logger, fatal } = options;
  const first = BigInt(watch.positions.latest);
  const restoration = new Restoration(unreadable);
  let restored = false;
  const start = () =>
    startLogReader(kafka, {
      topic: TOPICS.metricsLatest,
      from: "beginning",
      isRead,
      onBatch: (partition, records) => {
        const placed = records.map(({ key, value, offset }) => ({ key, value, offset: offset + first }));
        if (!restored) restoration.addRecords(partition, placed);
        else
          for (const record of placed)
            if (record.key !== markerKey(partition)) readBack(options, record.key, record.value);
        const last = placed.at(-1);
        if (last !== undefined) checkpoints?.readUpTo(partition, Number(last.offset) + 1);
      },
      logger,
      fatal: (error) => void watch.fail(error, fatal),
    });
  if (checkpoints === null) {
    const reader = await start();
    try {
      await reader.value.caughtUp;
    } finally {
      await reader.stop();
    }
  } else {
    const latest = await scope.start("checkpoints", start);
    await latest.caughtUp;
  }
  restored = true;
  return restoration;
}

function readBack({ checkpoints, unreadable }: SamplesOptions, key: string, value: Buffer): void {
  if (value.length === 0 || checkpoints === null) return;
  const checkpoint = decodeCheckpoint(value.toString("utf8"));
  if ("fault" in checkpoint) unreadable.report("checkpoint", key, checkpoint);
  else checkpoints.readBack(key, checkpoint);
}
