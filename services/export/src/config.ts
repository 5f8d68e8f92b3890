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
  /** Authenticates this service at other services. */
  SERVICE_TOKEN: configFields.serviceToken,
  /**
   * Shared with services of 0.1.0, both ways, while such services run; deleted in the release after
   * the next.
   */
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Base URL of the account service: orders, positions and deals. */
  ACCOUNT_URL: configFields.serviceUrl,
  /** Base URL of the finance service: transactions. */
  FINANCE_URL: configFields.serviceUrl,
  /** Deadline of one call to an owner: above the 2 s that an owner waits for its trading server. */
  OWNER_TIMEOUT_MS: configFields.integer(100, 60_000).default(10_000),
});
export type Config = z.output<typeof ConfigSchema>;
