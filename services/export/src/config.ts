import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

/** Every setting of the export service. */
export const ConfigSchema = z.object({
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  ...connectionFields.postgres,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  SERVICE_TOKEN: configFields.serviceToken,
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Base URL of the account service: orders, positions and deals. */
  ACCOUNT_URL: configFields.serviceUrl,
  /** Base URL of the finance service: transactions. */
  FINANCE_URL: configFields.serviceUrl,
  /**
   * Deadline of one call to the account or finance service, in milliseconds. Set it above the 2 s
   * for which these services wait for a trading server.
   */
  OWNER_TIMEOUT_MS: configFields.integer(100, 60_000).default(10_000),
});
/** The parsed environment of this service. */
export type Config = z.output<typeof ConfigSchema>;
