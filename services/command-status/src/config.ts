import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

/**
 * Late messages are at most as old as topics keep them, a week; a month that lies two months back
 * gets none.
 */
const MIN_KEPT_MONTHS = 2;
const MAX_KEPT_MONTHS = 1_200;
/** Months of details before the current one, unless told otherwise. */
export const DEFAULT_KEPT_MONTHS = 13;

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
  /**
   * Details of commands are kept for the current month and so many before it; their ids for good.
   */
  COMMANDS_KEPT_MONTHS: configFields.integer(MIN_KEPT_MONTHS, MAX_KEPT_MONTHS).default(DEFAULT_KEPT_MONTHS),
  /** Those that may call this service: INTERNAL_CALLS says what. */
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  /**
   * Shared with services of 0.1.0, both ways, while such services run; deleted in the release after
   * the next.
   */
  INTERNAL_TOKEN: configFields.internalToken.optional(),
});

export type Config = z.output<typeof ConfigSchema>;
