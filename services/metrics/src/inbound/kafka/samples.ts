import { setImmediate } from "node:timers/promises";

import { TOPICS } from "@kapi/contracts";
import { beginOffsets, createLogReader, type KafkaConnection, type LogReader, offsetsForTime } from "@kapi/kafka";
import type { Clock } from "@kapi/kernel";
import type { Logger, Scope } from "@kapi/runtime";

import type { SampleProgress } from "../../domain/ports.ts";
import { readCheckpoint, Restoration } from "../../operations/restore-samples.ts";
import type { SampleLog, SampleRecord } from "../../operations/sample-log.ts";
import type { Checkpoints } from "../../operations/write-checkpoints.ts";

const RECORDS_PER_TURN = 300;
/** Under load a sample is shown this much later, and every fetch brings many. */
const BUSY_INTERVAL_MS = 5;

export interface SamplesOptions {
  readonly kafka: KafkaConnection;
  readonly scope: Scope;
  readonly log: SampleLog;
  /** Null where this process writes no checkpoints. */
  readonly checkpoints: Checkpoints | null;
  readonly windowMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}

/**
 * Restores all accounts from `metrics.latest`, then reads `metrics.samples` from there on, for as long as the process lives.
 * Resolves when the samples have been read to the end they had.
 */
export async function readSamples(options: SamplesOptions): Promise<{ reader: LogReader; progress: SampleProgress }> {
  const { kafka, scope, log, logger, fatal } = options;
  const restoration = await readCheckpoints(options);
  const startedMs = options.clock.nowMs();
  const [begins, windowOffsets] = await Promise.all([
    beginOffsets(kafka, TOPICS.metricsSamples),
    offsetsForTime(kafka, TOPICS.metricsSamples, startedMs - options.windowMs),
  ]);
  const from = restoration.finish(log, begins, windowOffsets);
  const reader = await scope.start("samples", () =>
    createLogReader(kafka, {
      topic: TOPICS.metricsSamples,
      from,
      onBatch: (partition, records) => applyInTurns(log, partition, records),
      busyIntervalMs: BUSY_INTERVAL_MS,
      logger,
      fatal,
    }),
  );
  await reader.caughtUp;
  logger.info({ accounts: log.size, elapsedMs: options.clock.nowMs() - startedMs }, "samples restored");
  const progress: SampleProgress = {
    reached: (partition, end, timeoutMs) => reader.waitFor(new Map([[partition, end]]), timeoutMs),
  };
  return { reader, progress };
}

/** The sockets must get their turn between the records of a long batch, or samples would leave the windows unsent. */
async function applyInTurns(log: SampleLog, partition: number, records: readonly SampleRecord[]): Promise<void> {
  for (let start = 0; start < records.length; start += RECORDS_PER_TURN) {
    if (start > 0) await setImmediate();
    log.apply(partition, records.slice(start, start + RECORDS_PER_TURN));
  }
}

/** Reads `metrics.latest` to its end; a process that writes checkpoints goes on reading, to mend what stale writers leave. */
async function readCheckpoints(options: SamplesOptions): Promise<Restoration> {
  const { kafka, scope, checkpoints, logger, fatal } = options;
  const restoration = new Restoration(logger);
  let restored = false;
  const start = () =>
    createLogReader(kafka, {
      topic: TOPICS.metricsLatest,
      from: "beginning",
      onBatch: (partition, records) => {
        if (!restored) restoration.take(partition, records);
        else for (const record of records) readBack(checkpoints, record.key, record.value);
        const last = records.at(-1);
        if (last !== undefined) checkpoints?.readUpTo(partition, Number(last.offset) + 1);
      },
      logger,
      fatal,
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

function readBack(checkpoints: Checkpoints | null, key: string, value: Buffer): void {
  if (value.length === 0) return;
  const checkpoint = readCheckpoint(value.toString("utf8"));
  if (checkpoint !== null) checkpoints?.readBack(key, checkpoint);
}
