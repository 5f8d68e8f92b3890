import { TOPICS } from "@kapi/contracts";
import { type Consumer, createConsumer, type KafkaConnection } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { Snapshots } from "../../operations/store-snapshots.ts";

const GROUP = "metrics-snapshots";
/** Snapshots are of minutes: a fifth of a second makes few, large batches. */
const MIN_INTERVAL_MS = 200;
const MAX_BATCH_MESSAGES = 5_000;

/** `metrics.samples` → the snapshots, each partition by one process of the group. */
export function consumeSamples(options: {
  kafka: KafkaConnection;
  snapshots: Snapshots;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, snapshots, logger, fatal } = options;
  return createConsumer(kafka, {
    groupId: GROUP,
    topics: [TOPICS.metricsSamples],
    minIntervalMs: MIN_INTERVAL_MS,
    maxBatchMessages: MAX_BATCH_MESSAGES,
    // One at a time: the live stream has the process's first claim.
    concurrentPartitions: 1,
    logger,
    fatal,
    onAssigned: (assignment) => {
      snapshots.assign(assignment.flatMap(({ partitions }) => partitions));
      return Promise.resolve();
    },
    onBatch: async ({ partition, messages }) => ({ commitOffset: await snapshots.take(partition, messages) }),
  });
}
