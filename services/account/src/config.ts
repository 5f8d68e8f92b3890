import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

/** Every setting of the account service. */
export const ConfigSchema = z.object({
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  ...connectionFields.postgres,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  /** Proves this service to those that it calls. */
  SERVICE_TOKEN: configFields.serviceToken,
  /** Those that may call this service: INTERNAL_CALLS says what. */
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  /**
   * Shared with services of 0.1.0, both ways, while such services run; deleted in the release after
   * the next.
   */
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Base address of the finance service: told of deletions. */
  FINANCE_URL: configFields.serviceUrl,
  /** Base address of the metrics service: last samples of accounts; told of deletions. */
  METRICS_URL: configFields.serviceUrl,
  /** What calls to trading servers carry that were registered without a token of their own. */
  TRADING_SERVER_TOKEN: configFields.internalToken.optional(),
  /** Open the tokens of trading servers; the organization service seals them. */
  TRADING_SERVER_SEALING_KEYS: configFields.keyring,
  ...connectionFields.tradingServers,
  /** "true": trading servers may be reached by http, on one machine alone. */
  TRADING_SERVER_ALLOW_INSECURE: configFields.allowInsecure,
  /**
   * Deadline of one call to a trading server: well below the 5 s in which the gateway must answer.
   */
  TRADING_SERVER_TIMEOUT_MS: configFields.integer(100, 30_000).default(3_000),
  /**
   * Generated passwords are derived with the first key (decisions, 5.2); the gateway has the same
   * keys.
   */
  PASSWORD_DERIVATION_KEYS: configFields.keyring,
  /** Opens supplied passwords (decisions, 5.2); the gateway has the same keys. */
  PASSWORD_SEALING_KEYS: configFields.keyring,
});
export type Config = z.output<typeof ConfigSchema>;
