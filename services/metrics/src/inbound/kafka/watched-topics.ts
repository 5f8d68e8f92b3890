import { TOPICS } from "@kapi/contracts";
import { type KafkaConnection, topicIds } from "@kapi/kafka";
import { delay } from "@kapi/kernel";
import type { Logger, Scope } from "@kapi/runtime";
import { startTimer } from "@kapi/service";

import type { TopicGenerationStore } from "../../domain/ports.ts";
import { TOPIC_CHECK_INTERVAL_MS, TopicWatch } from "../../operations/topic-watch.ts";

/** Time limit for the last checkpoints of a process that must end. */
const LAST_CHECKPOINTS_TIMEOUT_MS = 5_000;

/**
 * Starts to watch the ids of the topics. If a topic was recreated, this process writes its last
 * checkpoints and ends. Its next start continues with the new topic.
 */
export async function startTopicWatch(options: {
  kafka: KafkaConnection;
  store: TopicGenerationStore;
  writeLastCheckpoints: () => Promise<void>;
  scope: Scope;
  logger: Logger;
  fatal: (error: Error) => void;
}): Promise<TopicWatch> {
  const { kafka, store, writeLastCheckpoints, scope, logger, fatal } = options;
  const { tradingValuations, metricsSamples, metricsLatest } = TOPICS;
  const end = async (reason: Error): Promise<void> => {
    try {
      await Promise.race([writeLastCheckpoints(), delay(LAST_CHECKPOINTS_TIMEOUT_MS)]);
    } catch (failure) {
      logger.warn({ err: failure }, "the last checkpoints were not written");
    }
    fatal(reason);
  };
  const watch = await TopicWatch.start({
    store,
    names: { valuations: tradingValuations.name, samples: metricsSamples.name, latest: metricsLatest.name },
    ids: async () => {
      const found = await topicIds(kafka, [tradingValuations, metricsSamples, metricsLatest]);
      const [valuations = null, samples = null, latest = null] = found;
      return { valuations, samples, latest };
    },
    changed: (reason) => void end(reason),
    logger,
  });
  let isChecking = false;
  const check = async (): Promise<void> => {
    if (isChecking) return;
    isChecking = true;
    try {
      await watch.check();
    } catch (error) {
      logger.info({ err: error }, "a topic was recreated, or the topics could not be checked");
    } finally {
      isChecking = false;
    }
  };
  await scope.start("topic watch", () => startTimer(TOPIC_CHECK_INTERVAL_MS, () => void check()));
  return watch;
}
