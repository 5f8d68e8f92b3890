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
  /** Those that may call this service: INTERNAL_CALLS says what. */
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  /**
   * Shared with services of 0.1.0, both ways, while such services run; deleted in the release after
   * the next.
   */
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** What calls to trading servers carry that were registered without a token of their own. */
  TRADING_SERVER_TOKEN: configFields.internalToken.optional(),
  /** Open the tokens of trading servers; the organization service seals them. */
  TRADING_SERVER_SEALING_KEYS: configFields.keyring,
  ...connectionFields.tradingServers,
  /** "true": trading servers may be reached by http, on one machine alone. */
  TRADING_SERVER_ALLOW_INSECURE: configFields.allowInsecure,
  /**
   * Deadline of one call to a trading server; after it the outcome counts as unknown, and is
   * settled or asked again.
   */
  TRADING_SERVER_TIMEOUT_MS: configFields.integer(100, 30_000).default(5_000),
  /** Rest between two comparisons of all balances with the trading servers. */
  RECONCILIATION_INTERVAL_MS: configFields.integer(100, 86_400_000).default(300_000),
});
export type Config = z.output<typeof ConfigSchema>;
