/**
 * The job that creates missing topics before the services start. Existing topics are not changed.
 * Exits 0 when every topic exists and each partition has a leader. Exits 1, with the reason on
 * stderr, if this fails, or if `metrics.samples` or `metrics.latest` does not have as many
 * partitions as `trading.valuations`.
 */
import { createKafka, createTopics, kafkaOptions } from "@kapi/kafka";
import { ConfigError, configFields, connectionFields, createLogger, loadConfig } from "@kapi/runtime";
import { z } from "zod";

const MAX_PARTITIONS = 1_000;
const MAX_REPLICAS = 15;

const Config = z.object({
  ...connectionFields.kafka,
  LOG_LEVEL: configFields.logLevel,
  /**
   * Number of partitions of a created topic, except `partition.growth`, which has one. If
   * `trading.valuations` exists and has more, a created topic gets as many as `trading.valuations`.
   * `kapi admin partitions grow` raises the number of partitions of existing topics.
   */
  KAFKA_PARTITIONS: configFields.integer(1, MAX_PARTITIONS).default(48),
  KAFKA_REPLICATION_FACTOR: configFields.integer(1, MAX_REPLICAS).default(3),
  KAFKA_MIN_INSYNC_REPLICAS: configFields.integer(1, MAX_REPLICAS).default(2),
});

async function main(): Promise<void> {
  const config = loadConfig(Config, process.env);
  const logger = createLogger({ service: "topics", level: config.LOG_LEVEL });
  const kafka = createKafka({
    ...kafkaOptions(config),
    clientId: "topics",
    logger,
  });
  await createTopics(kafka, {
    partitions: config.KAFKA_PARTITIONS,
    replicationFactor: config.KAFKA_REPLICATION_FACTOR,
    minInsyncReplicas: config.KAFKA_MIN_INSYNC_REPLICAS,
  });
  logger.info("all topics exist");
}

try {
  await main();
} catch (error) {
  const reason =
    error instanceof ConfigError ? error.problems.join("\n") : error instanceof Error ? error.message : String(error);
  process.stderr.write(`The topics could not be created: ${reason}\n`);
  process.exit(1);
}
