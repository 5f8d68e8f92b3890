import { TOPICS } from "@kapi/contracts";
import { type Consumer, type KafkaConnection, startConsumer } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { Evaluator } from "../../operations/evaluator.ts";

/** The consumer group of the processes that compare valuations with rules. */
const EVALUATOR_GROUP = "risk-evaluator";
/** Maximum number of valuations whose alerts are committed together. */
const MAX_BATCH_VALUATIONS = 500;
/**
 * Minimum time between fetches under load. Batches are then larger, and breaches are recorded at
 * most this much later.
 */
const BUSY_INTERVAL_MS = 10;

/** Reads `trading.valuations`, as a member of the group. */
export function startValuationConsumer(options: {
  readonly kafka: KafkaConnection;
  readonly evaluator: Evaluator;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}): Promise<Started<Consumer>> {
  const { kafka, evaluator, logger, fatal } = options;
  return startConsumer(kafka, {
    groupId: EVALUATOR_GROUP,
    topics: [TOPICS.tradingValuations],
    // `EvaluationStore.acquire` compares topic ids, so a recreated topic need not be fatal.
    restartBeyondEnd: true,
    maxBatchMessages: MAX_BATCH_VALUATIONS,
    busyIntervalMs: BUSY_INTERVAL_MS,
    logger,
    fatal,
    onAssigned: (assignment, generation) => {
      evaluator.assign(
        assignment.flatMap(({ partitions }) => partitions),
        generation,
      );
      return Promise.resolve();
    },
    onBatch: ({ partition, messages }) => evaluator.addValuations(partition, messages),
    beforeLastCommit: () => evaluator.checkpoint(),
  });
}
