import { setImmediate } from "node:timers/promises";

import { TOPICS } from "@kapi/contracts";
import { type Consumer, createConsumer, type KafkaConnection } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { Sequencer } from "../../operations/sequence-valuations.ts";

/** The consumer group of the sequencers. */
export const SEQUENCER_GROUP = "metrics-sequencer";
/** Under load a sample comes this much later, and every fetch brings many valuations. */
const BUSY_INTERVAL_MS = 10;
/** The log's reader gets its turn between the pieces of a long batch, or samples would wait there to be judged. */
const VALUATIONS_PER_TURN = 50;

/** `trading.valuations` → the sequencer, as a member of its group. */
export function consumeValuations(options: {
  kafka: KafkaConnection;
  sequencer: Sequencer;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, sequencer, logger, fatal } = options;
  return createConsumer(kafka, {
    groupId: SEQUENCER_GROUP,
    topics: [TOPICS.tradingValuations],
    busyIntervalMs: BUSY_INTERVAL_MS,
    logger,
    fatal,
    onAssigned: (assignment) => {
      sequencer.assign(assignment.flatMap(({ partitions }) => partitions));
      return Promise.resolve();
    },
    maxBatchMessages: VALUATIONS_PER_TURN,
    onBatch: async ({ partition, messages }) => {
      await setImmediate();
      return sequencer.take(partition, messages);
    },
    beforeLastCommit: () => sequencer.judged(),
  });
}
