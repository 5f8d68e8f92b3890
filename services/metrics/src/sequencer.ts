/** The role `sequencer`: numbers samples and stores snapshots. */
import { TOPICS } from "@kapi/contracts";
import type { Directory } from "@kapi/admission";
import { startProducer, endOffsets, type KafkaConnection, LIVE_INTERVAL_MS } from "@kapi/kafka";
import { latestOf, systemClock } from "@kapi/kernel";
import type { MainContext } from "@kapi/runtime";
import { observed } from "@kapi/runtime";
import { type ServiceKafka, startReader, startTimer } from "@kapi/service";

import type { Config } from "./config.ts";
import type { AccountExistence, SampleProgress, SnapshotStore } from "./domain/ports.ts";
import { positionsOf } from "./domain/topic-position.ts";
import { startAccountStatusConsumer } from "./inbound/kafka/account-statuses.ts";
import { startSampleConsumer } from "./inbound/kafka/snapshot-samples.ts";
import { startValuationConsumer, SEQUENCER_GROUP } from "./inbound/kafka/valuations.ts";
import type { ReadPartitions } from "./operations/assigned-partitions.ts";
import { Rejections } from "./operations/rejections.ts";
import type { SampleLog } from "./operations/sample-log.ts";
import { Sequencer } from "./operations/sequence-valuations.ts";
import { Snapshots } from "./operations/store-snapshots.ts";
import type { TopicWatch } from "./operations/topic-watch.ts";
import type { UnreadableRecords } from "./operations/unreadable-records.ts";
import { Checkpoints } from "./operations/write-checkpoints.ts";
import { createRejectedValuationSink } from "./outbound/kafka/rejected-valuations.ts";
import { createCheckpointSink, createSampleSink } from "./outbound/kafka/sample-topic.ts";

/** Interval at which snapshots are stored. */
const WRITE_INTERVAL_MS = 2_000;
/** Interval at which the day partitions of the tables are created and dropped. */
const KEEP_DAYS_INTERVAL_MS = 3_600_000;
/** Time limit for a stopping process that waits for the recreation of a deleted topic. */
const RECREATED_TIMEOUT_MS = 3_000;
/**
 * Number of sweeps in a coalescing interval. A sweep cuts the samples that are due. The bounds
 * below limit the time between sweeps.
 */
const SWEEPS_PER_INTERVAL = 20;
const MIN_SWEEP_MS = 5;
const MAX_SWEEP_MS = 50;

type Context = MainContext<Config>;

/** A sequencer that listens to the log and does not read valuations yet. */
export interface PreparedSequencer {
  readonly checkpoints: Checkpoints;
  /** Starts to read valuations. Resolves when every assigned partition is restored. */
  start(progress: SampleProgress, partitions: ReadPartitions): Promise<void>;
  /** Writes the last checkpoints, before the process ends. */
  writeLastCheckpoints(): Promise<void>;
}

/**
 * Prepares the sequencer before any sample is read, because it listens to every sample from the
 * first one on.
 */
export async function prepareSequencer(
  context: Context,
  kafka: KafkaConnection,
  log: SampleLog,
  directory: Directory,
  existence: AccountExistence,
  watch: TopicWatch,
  unreadable: UnreadableRecords,
): Promise<PreparedSequencer> {
  const { config, scope, logger, fatal } = context;
  // Valuations from the future are rejected. If only the database's clock were used and it were
  // minutes behind, every valuation would be rejected.
  const clock = latestOf(context.clock, systemClock);
  const producer = await scope.start("producer", () => startProducer(kafka, { minIntervalMs: LIVE_INTERVAL_MS }));
  // A separate producer, so that no sample waits behind thousands of checkpoints.
  const background = await scope.start("checkpoint producer", () => startProducer(kafka));
  const coalesceMs = config.COALESCE_MS;
  let started: SampleProgress | null = null;
  const sequencer = new Sequencer({
    log,
    sink: createSampleSink(kafka, producer),
    progress: {
      reached: (partition, end, timeoutMs) =>
        started?.reached(partition, end, timeoutMs) ?? Promise.reject(new Error("the samples are not read yet")),
    },
    existence,
    rejections: new Rejections({
      sink: createRejectedValuationSink(background, SEQUENCER_GROUP),
      samplesPerMinute: config.REJECTED_SAMPLES_PER_MINUTE,
      clock,
      logger,
    }),
    unreadable,
    isServer: (serverId) => {
      const server = directory.server(serverId);
      return server !== undefined && server.status !== "removed";
    },
    partitionOf: (key) => producer.partitionOf(TOPICS.tradingValuations, key),
    coalesceMs,
    clock,
    logger,
  });
  log.listen(sequencer);
  const partitions = (): number[] => sequencer.readyPartitions;
  observed("metrics.partitions.written", "Partitions whose samples this process may write now", "{partition}", () => [
    { value: partitions().length },
  ]);
  const checkpoints = new Checkpoints({
    log,
    sink: createCheckpointSink(background),
    partitions,
    logger,
  });
  log.listen(checkpoints);
  // A topic may have been recreated just before the process ends, whatever the reason of the end.
  const writeLastCheckpoints = async (): Promise<void> => {
    const recreated = await watch.recreated(RECREATED_TIMEOUT_MS);
    if (recreated.includes("latest")) checkpoints.changeAll();
    await checkpoints.writeLast(recreated.length > 0 ? "all" : partitions());
  };
  const start = async (progress: SampleProgress, assigned: ReadPartitions): Promise<void> => {
    started = progress;
    await scope.start("checkpoint timer", () => {
      const timer = startTimer(config.CHECKPOINT_INTERVAL_MS, () => void checkpoints.write());
      return {
        value: null,
        stop: async () => {
          await timer.stop();
          await writeLastCheckpoints();
          sequencer.stop();
        },
      };
    });
    const sweepMs = Math.min(MAX_SWEEP_MS, Math.max(MIN_SWEEP_MS, coalesceMs / SWEEPS_PER_INTERVAL));
    if (coalesceMs > 0) await scope.start("coalescing", () => startTimer(sweepMs, () => sequencer.sweep(sweepMs)));
    await startReader(context, "valuations", () =>
      startValuationConsumer({ kafka, sequencer, assigned, watch, logger, fatal }),
    );
    await assigned.allRestored();
  };
  return { checkpoints, start, writeLastCheckpoints };
}

/**
 * Starts the consumers and timers that store snapshots and the statuses of accounts. The live
 * stream does not wait for them.
 */
export async function startSnapshots(
  context: Context,
  dependencies: {
    readonly kafka: ServiceKafka;
    readonly log: SampleLog;
    readonly store: SnapshotStore;
    /** The position of offset 0 of `metrics.samples`. */
    readonly firstPosition: number;
    readonly partitions: ReadPartitions;
    readonly unreadable: UnreadableRecords;
  },
): Promise<void> {
  const { kafka, log, store, firstPosition, partitions, unreadable } = dependencies;
  const { scope, logger, clock, fatal } = context;
  const ends = async () => positionsOf(await endOffsets(kafka, TOPICS.metricsSamples), firstPosition);
  const isDraining = (): boolean => kafka.growth.growth?.phase === "draining";
  const snapshots = new Snapshots({ store, log, ends, isDraining, unreadable, clock, logger });
  log.listen(snapshots);
  await snapshots.keepDays();
  // No liveness check of these consumers: the live stream continues without the database.
  await scope.start("account statuses", () => startAccountStatusConsumer({ kafka, store, logger, fatal }));
  await scope.start("snapshots", () =>
    startSampleConsumer({ kafka, snapshots, partitions, firstPosition, logger, fatal }),
  );
  const trying = (what: string, work: () => Promise<void>) => () =>
    void work().catch((error: unknown) => logger.warn({ err: error }, `${what}; trying again in the next interval`));
  await scope.start("snapshot timer", () =>
    startTimer(
      WRITE_INTERVAL_MS,
      trying("snapshots were not written", () => snapshots.write()),
    ),
  );
  await scope.start("days of snapshots", () =>
    startTimer(
      KEEP_DAYS_INTERVAL_MS,
      trying("days of snapshots were not created or dropped", () => snapshots.keepDays()),
    ),
  );
}
