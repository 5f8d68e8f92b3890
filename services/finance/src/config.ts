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
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Token for trading servers that were registered without a token of their own. */
  TRADING_SERVER_TOKEN: configFields.internalToken.optional(),
  /**
   * Keys that decrypt the tokens of trading servers; the organization service has the same keys.
   */
  TRADING_SERVER_SEALING_KEYS: configFields.keyring,
  ...connectionFields.tradingServers,
  TRADING_SERVER_ALLOW_INSECURE: configFields.allowInsecure,
  /**
   * Deadline of one call to a trading server, in milliseconds. After this time the outcome of a
   * change is unknown: the service asks the trading server for the outcome, or sends the change
   * again.
   */
  TRADING_SERVER_TIMEOUT_MS: configFields.integer(100, 30_000).default(5_000),
  DIGEST_GRACE_MS: configFields.digestGraceMs,
  /** Pause between two reconciliation passes, in milliseconds. */
  RECONCILIATION_INTERVAL_MS: configFields.integer(100, 86_400_000).default(300_000),
});
export type Config = z.output<typeof ConfigSchema>;
