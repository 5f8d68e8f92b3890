import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

/** Everything that this service can be told, by the name of its environment variable. */
export const ConfigSchema = z.object({
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  LOG_LEVEL: configFields.logLevel,
  ...connectionFields.kafka,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  ...connectionFields.postgres,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  ...connectionFields.redis,
  INTERNAL_TOKEN: configFields.internalToken,
});

export type Config = z.output<typeof ConfigSchema>;
