import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

/** Every setting of the finance service. */
export const ConfigSchema = z.object({
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  ...connectionFields.postgres,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  /** The services that may call this one. INTERNAL_CALLS lists their routes. */
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  /**
   * Shared with services of 0.1.0, both ways, while such services run; deleted in the release after
   * the next.
   */
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Token for trading servers that were registered without their own token. */
  TRADING_SERVER_TOKEN: configFields.internalToken.optional(),
  /** Decrypt the tokens of trading servers; the organization service seals them. */
  TRADING_SERVER_SEALING_KEYS: configFields.keyring,
  ...connectionFields.tradingServers,
  /** "true" allows http to trading servers, on a single machine only. */
  TRADING_SERVER_ALLOW_INSECURE: configFields.allowInsecure,
  /**
   * Deadline of one call to a trading server. After it the outcome is unknown: it is settled, or
   * sent again.
   */
  TRADING_SERVER_TIMEOUT_MS: configFields.integer(100, 30_000).default(5_000),
  /** Pause between two reconciliation passes. */
  RECONCILIATION_INTERVAL_MS: configFields.integer(100, 86_400_000).default(300_000),
});
export type Config = z.output<typeof ConfigSchema>;
