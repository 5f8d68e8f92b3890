import { configFields } from "@kapi/runtime";
import { z } from "zod";

/** Everything that this service can be told, by the name of its environment variable. */
export const ConfigSchema = z.object({
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  LOG_LEVEL: configFields.logLevel,
  KAFKA_BROKERS: configFields.kafkaBrokers,
  KAFKA_TOPIC_PREFIX: configFields.kafkaTopicPrefix,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  POSTGRES_URL: configFields.postgresUrl,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  REDIS_URL: configFields.redisUrl,
  INTERNAL_TOKEN: configFields.internalToken,
});

export type Config = z.output<typeof ConfigSchema>;
