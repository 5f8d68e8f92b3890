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
  /** Authenticates this service at other services. */
  SERVICE_TOKEN: configFields.serviceToken,
  /** The services that may call this one. INTERNAL_CALLS lists their routes. */
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  /**
   * Shared with services of 0.1.0, both ways, while such services run; deleted in the release after
   * the next.
   */
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Base URL of the finance service, which deletes its data of deleted accounts. */
  FINANCE_URL: configFields.serviceUrl,
  /** Base URL of the metrics service: last samples, and deletion of account data. */
  METRICS_URL: configFields.serviceUrl,
  /** Token for trading servers that were registered without their own token. */
  TRADING_SERVER_TOKEN: configFields.internalToken.optional(),
  /** Decrypt the tokens of trading servers; the organization service seals them. */
  TRADING_SERVER_SEALING_KEYS: configFields.keyring,
  ...connectionFields.tradingServers,
  /** "true" allows http to trading servers, on a single machine only. */
  TRADING_SERVER_ALLOW_INSECURE: configFields.allowInsecure,
  /** Deadline of one call to a trading server: well below the gateway's 5 s. */
  TRADING_SERVER_TIMEOUT_MS: configFields.integer(100, 30_000).default(3_000),
  /** The first key derives generated passwords (decisions, 5.2); the gateway has the same keys. */
  PASSWORD_DERIVATION_KEYS: configFields.keyring,
  /** Decrypts supplied passwords (decisions, 5.2); the gateway has the same keys. */
  PASSWORD_SEALING_KEYS: configFields.keyring,
});
export type Config = z.output<typeof ConfigSchema>;
