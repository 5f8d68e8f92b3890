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
  SERVICE_TOKEN: configFields.serviceToken,
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /**
   * Base URL of the finance service. It hides the transactions of deleted accounts, and books the
   * transactions of positions that a command closes.
   */
  FINANCE_URL: configFields.serviceUrl,
  /** Base URL of the metrics service: last samples, and deletion of account data. */
  METRICS_URL: configFields.serviceUrl,
  /** Token for trading servers that were registered without a token of their own. */
  TRADING_SERVER_TOKEN: configFields.internalToken.optional(),
  /**
   * Keys that decrypt the tokens of trading servers; the organization service has the same keys.
   */
  TRADING_SERVER_SEALING_KEYS: configFields.keyring,
  ...connectionFields.tradingServers,
  TRADING_SERVER_ALLOW_INSECURE: configFields.allowInsecure,
  /**
   * Deadline of one call to a trading server, in milliseconds. After it, account details show
   * the last sample. Keep it below 3,500: the gateway waits at most 3.5 s for account details.
   */
  TRADING_SERVER_TIMEOUT_MS: configFields.integer(100, 30_000).default(3_000),
  DIGEST_GRACE_MS: configFields.digestGraceMs,
  /**
   * Keys of generated passwords (decisions, 5.2). Each command names the key that derives its
   * passwords. The gateway has the same keys; new commands name the gateway's first key.
   */
  PASSWORD_DERIVATION_KEYS: configFields.keyring,
  /** Keys that decrypt supplied passwords (decisions, 5.2); the gateway has the same keys. */
  PASSWORD_SEALING_KEYS: configFields.keyring,
});
export type Config = z.output<typeof ConfigSchema>;
