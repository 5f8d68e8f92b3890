import { configFields } from "@kapi/runtime";
import { z } from "zod";

/** Every setting of the export service. */
export const ConfigSchema = z.object({
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  KAFKA_BROKERS: configFields.kafkaBrokers,
  KAFKA_TOPIC_PREFIX: configFields.kafkaTopicPrefix,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  POSTGRES_URL: configFields.postgresUrl,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  INTERNAL_TOKEN: configFields.internalToken,
});
export type Config = z.output<typeof ConfigSchema>;
