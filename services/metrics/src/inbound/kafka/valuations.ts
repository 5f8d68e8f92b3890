import { TOPICS } from "@kapi/contracts";
import { type Consumer, createConsumer, type KafkaConnection } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { Sequencer } from "../../operations/sequence-valuations.ts";

const GROUP = "metrics-sequencer";
/** Under load a sample comes this much later, and every fetch brings many valuations. */
const BUSY_INTERVAL_MS = 20;

/**
 * `trading.valuations` → the sequencer, as a member of its group. What it refuses goes to the dead letters with the
 * reason and, as a valuation holds no secret, the value.
 */
export function consumeValuations(options: {
  kafka: KafkaConnection;
  sequencer: Sequencer;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, sequencer, logger, fatal } = options;
  return createConsumer(kafka, {
    groupId: GROUP,
    topics: [TOPICS.tradingValuations],
    busyIntervalMs: BUSY_INTERVAL_MS,
    logger,
    fatal,
    onAssigned: (assignment) => {
      sequencer.assign(assignment.flatMap(({ partitions }) => partitions));
      return Promise.resolve();
    },
    onBatch: async ({ partition, messages }) => {
      const { refused, commitOffset } = await sequencer.take(partition, messages);
      return {
        commitOffset,
        deadLetters: refused.map(({ message, reason }) => ({ message, reason, includeValue: true })),
      };
    },
  });
}
