import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

/**
 * Topics keep messages for a week, so a late message belongs to the current month or to the month
 * before it. One more month is kept as a margin.
 */
const MIN_KEPT_MONTHS = 2;
const MAX_KEPT_MONTHS = 1_200;
/** Default of `COMMANDS_KEPT_MONTHS`. */
export const DEFAULT_KEPT_MONTHS = 13;

/** Every setting of the command-status service. */
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
   * Number of months before the current one for which details of commands are kept. Their ids are
   * kept forever.
   */
  COMMANDS_KEPT_MONTHS: configFields.integer(MIN_KEPT_MONTHS, MAX_KEPT_MONTHS).default(DEFAULT_KEPT_MONTHS),
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  INTERNAL_TOKEN: configFields.internalToken.optional(),
});

export type Config = z.output<typeof ConfigSchema>;
