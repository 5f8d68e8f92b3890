import { configFields } from "@kapi/runtime";
import { z } from "zod";

/** The environment of the organization service. */
export const Config = z.object({
  /** Where the operator's routes and the health probes listen. */
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  KAFKA_BROKERS: configFields.kafkaBrokers,
  KAFKA_TOPIC_PREFIX: configFields.kafkaTopicPrefix,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  POSTGRES_URL: configFields.postgresUrl,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  REDIS_URL: configFields.redisUrl,
  /** Proves calls between services, both ways. */
  INTERNAL_TOKEN: configFields.internalToken,
  /** Asked for open reservations before wallets are set from the ledger. */
  COMMAND_STATUS_URL: configFields.serviceUrl,
});
export type Config = z.output<typeof Config>;
