import { setImmediate } from "node:timers/promises";

import { TOPICS } from "@kapi/contracts";
import { type Consumer, startConsumer, type KafkaConnection, RetryableError } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { ReadPartitions } from "../../operations/assigned-partitions.ts";
import type { Sequencer } from "../../operations/sequence-valuations.ts";
import type { TopicWatch } from "../../operations/topic-watch.ts";

/** The consumer group of the sequencers. */
export const SEQUENCER_GROUP = "metrics-sequencer";
/**
 * Minimum time between fetches under load. It makes batches larger, and delays samples by at most
 * this time.
 */
const BUSY_INTERVAL_MS = 10;
/** Number of valuations after which the reader of `metrics.samples` gets a turn. */
const VALUATIONS_PER_TURN = 50;
/**
 * Larger than any offset. Stands for the missing entry in `reached` at a partition's first batch,
 * so that this batch checks the topics.
 */
const MAX_OFFSET = 2n ** 63n - 1n;

/** Starts to read `trading.valuations` for the sequencer, as a member of its group. */
export function startValuationConsumer(options: {
  kafka: KafkaConnection;
  sequencer: Sequencer;
  assigned: ReadPartitions;
  watch: TopicWatch;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, sequencer, assigned, watch, logger, fatal } = options;
  /** The position of offset 0. The sequencer gets positions, and Kafka gets offsets. */
  const first = BigInt(watch.positions.valuations);
  /** The offset after the last valuation that was read, by partition. */
  const reached = new Map<number, bigint>();
  return startConsumer(kafka, {
    groupId: SEQUENCER_GROUP,
    topics: [TOPICS.tradingValuations],
    restartBeyondEnd: true,
    busyIntervalMs: BUSY_INTERVAL_MS,
    isAssignedByProcess: true,
    logger,
    fatal,
    onAssigned: (assignment) => {
      reached.clear();
      const partitions = assignment.flatMap((topic) => topic.partitions);
      assigned.assign("valuations", partitions);
      sequencer.assign(partitions);
      return Promise.resolve();
    },
    maxBatchMessages: VALUATIONS_PER_TURN,
    onBatch: async ({ partition, messages }) => {
      await setImmediate();
      // The first batch of a partition checks the topics. A later batch checks them only if its
      // offset went back. Offsets go back only if the topic was recreated.
      if ((messages[0]?.offset ?? 0n) < (reached.get(partition) ?? MAX_OFFSET)) await checked(watch);
      const { commitOffset } = await sequencer.addValuations(
        partition,
        messages.map(({ key, value, offset }) => ({ key, value, offset: offset + first })),
      );
      reached.set(partition, (messages.at(-1)?.offset ?? -1n) + 1n);
      return { commitOffset: () => commitOffset() - first };
    },
    beforeLastCommit: () => sequencer.awaitAcceptance(),
  });
}

/** Checks the topics: a recreated topic ends the process. */
async function checked(watch: TopicWatch): Promise<void> {
  try {
    await watch.check();
  } catch (error) {
    throw new RetryableError("a topic was recreated, or the topics could not be checked", { cause: error });
  }
}
