import { TOPICS } from "@kapi/contracts";
import { type Consumer, startConsumer, type KafkaConnection } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import { sampleRecord } from "./samples.ts";
import type { Snapshots } from "../../operations/store-snapshots.ts";

const GROUP = "metrics-snapshots";
/** Snapshots are per minute, so fewer and larger batches are enough. */
const MIN_INTERVAL_MS = 200;
const MAX_BATCH_MESSAGES = 5_000;

/** Reads `metrics.samples` for the snapshots, as a member of the group. */
export function startSampleConsumer(options: {
  kafka: KafkaConnection;
  snapshots: Snapshots;
  /** The position of the topic's first offset. */
  firstPosition: number;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, snapshots, firstPosition, logger, fatal } = options;
  const first = BigInt(firstPosition);
  return startConsumer(kafka, {
    groupId: GROUP,
    topics: [TOPICS.metricsSamples],
    restartBeyondEnd: true,
    minIntervalMs: MIN_INTERVAL_MS,
    maxBatchMessages: MAX_BATCH_MESSAGES,
    // One at a time, because the live stream has priority in this process.
    concurrentPartitions: 1,
    logger,
    fatal,
    onAssigned: (assignment) => {
      snapshots.assign(assignment.flatMap(({ partitions }) => partitions));
      return Promise.resolve();
    },
    onBatch: async ({ partition, messages }) => {
      const records = messages.map((message) => sampleRecord(message, first));
      return { commitOffset: (await snapshots.addRecords(partition, records)) - first };
    },
  });
}
