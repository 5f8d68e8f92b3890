import { TOPICS } from "@kapi/contracts";
import { type Consumer, startConsumer, type KafkaConnection, RetryableError } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import { sampleRecord } from "./samples.ts";
import type { ReadPartitions } from "../../operations/assigned-partitions.ts";
import type { Snapshots } from "../../operations/store-snapshots.ts";

const GROUP = "metrics-snapshots";
/** Minimum time between two fetches: snapshots are per minute, so few large batches are enough. */
const MIN_INTERVAL_MS = 200;
const MAX_BATCH_MESSAGES = 5_000;
/** Maximum wait for the restoration of a partition; then another partition gets a turn. */
const RESTORED_TIMEOUT_MS = 2_000;

/** Starts to read `metrics.samples` for snapshots, as a member of the group `metrics-snapshots`. */
export function startSampleConsumer(options: {
  kafka: KafkaConnection;
  snapshots: Snapshots;
  partitions: ReadPartitions;
  /** The position of offset 0 of `metrics.samples`. */
  firstPosition: number;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, snapshots, partitions, firstPosition, logger, fatal } = options;
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
    isAssignedByProcess: true,
    onAssigned: (assignment) => {
      const assigned = assignment.flatMap((topic) => topic.partitions);
      partitions.assign("snapshots", assigned);
      snapshots.assign(assigned);
      return Promise.resolve();
    },
    onBatch: async ({ partition, messages }) => {
      await restored(partitions, partition);
      const records = messages.map((message) => sampleRecord(message, first));
      const stored = await snapshots.addRecords(partition, records);
      return { commitOffset: () => stored() - first };
    },
  });
}

/**
 * Waits until `SampleLog` has restored the accounts of a partition. The snapshots need them: if
 * samples are missing in the log, an account's snapshots continue from a sample that `SampleLog`
 * has accepted.
 */
async function restored(partitions: ReadPartitions, partition: number): Promise<void> {
  try {
    await partitions.restored(partition, RESTORED_TIMEOUT_MS);
  } catch (error) {
    throw new RetryableError("the accounts of the partition are not restored yet", { cause: error });
  }
}
