import { setImmediate } from "node:timers/promises";

import { TOPICS } from "@kapi/contracts";
import { type Consumer, createConsumer, type KafkaConnection, RetryableError } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { Sequencer } from "../../operations/sequence-valuations.ts";
import type { TopicWatch } from "../../operations/topic-watch.ts";

/** The consumer group of the sequencers. */
export const SEQUENCER_GROUP = "metrics-sequencer";
/** Under load a sample comes this much later, and every fetch brings many valuations. */
const BUSY_INTERVAL_MS = 10;
/**
 * The log's reader gets its turn between the pieces of a long batch, or samples would wait there to
 * be judged.
 */
const VALUATIONS_PER_TURN = 50;
/** Larger than any offset: the first batch of an assignment is always checked. */
const MAX_OFFSET = 2n ** 63n - 1n;

/** `trading.valuations` → the sequencer, as a member of its group. */
export function consumeValuations(options: {
  kafka: KafkaConnection;
  sequencer: Sequencer;
  watch: TopicWatch;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, sequencer, watch, logger, fatal } = options;
  const first = BigInt(watch.positions.valuations);
  /** The offset behind the last valuation that was taken in, by partition. */
  const reached = new Map<number, bigint>();
  return createConsumer(kafka, {
    groupId: SEQUENCER_GROUP,
    topics: [TOPICS.tradingValuations],
    restartBeyondEnd: true,
    busyIntervalMs: BUSY_INTERVAL_MS,
    logger,
    fatal,
    onAssigned: (assignment) => {
      reached.clear();
      sequencer.assign(assignment.flatMap(({ partitions }) => partitions));
      return Promise.resolve();
    },
    maxBatchMessages: VALUATIONS_PER_TURN,
    onBatch: async ({ partition, messages }) => {
      await setImmediate();
      // An offset may be smaller than the last one only in a topic that was made again.
      if ((messages[0]?.offset ?? 0n) < (reached.get(partition) ?? MAX_OFFSET)) await checked(watch);
      const { commitOffset } = await sequencer.take(
        partition,
        messages.map(({ key, value, offset }) => ({ key, value, offset: offset + first })),
      );
      reached.set(partition, (messages.at(-1)?.offset ?? -1n) + 1n);
      return { commitOffset: () => commitOffset() - first };
    },
    beforeLastCommit: () => sequencer.judged(),
  });
}

async function checked(watch: TopicWatch): Promise<void> {
  try {
    await watch.check();
  } catch (error) {
    throw new RetryableError("it is not known whether the topic is the one of the start", { cause: error });
  }
}
