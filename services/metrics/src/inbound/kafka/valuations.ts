import { setImmediate } from "node:timers/promises";

import { TOPICS } from "@kapi/contracts";
import { type Consumer, createConsumer, type KafkaConnection } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { Sequencer } from "../../operations/sequence-valuations.ts";

const GROUP = "metrics-sequencer";
/** Under load a sample comes this much later, and every fetch brings many valuations. */
const BUSY_INTERVAL_MS = 10;
/** The log's reader gets its turn between the pieces of a long batch, or samples would wait there to be judged. */
const VALUATIONS_PER_TURN = 50;

/**
 * `trading.valuations` → the sequencer, as a member of its group. What it refuses goes to the dead letters with the
 * reason and, as a valuation holds no secret, the value.
 */
export function consumeValuations(options: {
  kafka: KafkaConnection;
  sequencer: Sequencer;
  /** Makes durable what samples do not show; before the last commit. */
  keepRepeats: () => Promise<void>;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, sequencer, keepRepeats, logger, fatal } = options;
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
    maxBatchMessages: VALUATIONS_PER_TURN,
    onBatch: async ({ partition, messages }) => {
      await setImmediate();
      const { refused, commitOffset } = await sequencer.take(partition, messages);
      return {
        commitOffset,
        deadLetters: refused.map(({ message, reason }) => ({ message, reason, includeValue: true })),
      };
    },
    beforeLastCommit: async () => {
      await sequencer.judged();
      await keepRepeats();
    },
  });
}
