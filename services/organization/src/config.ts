import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

const MIN_POOL_SIZE = 2;
const MIN_KEPT_MONTHS = 3;
const MAX_KEPT_MONTHS = 1_200;
/** Default of `CREDIT_ENTRIES_KEPT_MONTHS`. */
export const DEFAULT_KEPT_MONTHS = 25;

/** The settings of this service, from the environment. */
export const ConfigSchema = z.object({
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  ...connectionFields.postgres,
  /**
   * Maximum number of connections of one process to PostgreSQL. At least 2: syncing a wallet shard
   * reads wallets on a second connection.
   */
  POSTGRES_POOL_SIZE: configFields.integer(MIN_POOL_SIZE, 500).default(16),
  ...connectionFields.redis,
  /**
   * Months of entries to keep before the current month; of older entries only sums stay. At least
   * 3: a repeated entry is looked for in the current and the previous month, and the usage list
   * looks for the reservation of released credits up to 62 days before their release.
   */
  CREDIT_ENTRIES_KEPT_MONTHS: configFields.integer(MIN_KEPT_MONTHS, MAX_KEPT_MONTHS).default(DEFAULT_KEPT_MONTHS),
  SERVICE_TOKEN: configFields.serviceToken,
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Keys that encrypt the tokens of trading servers. Account and finance have the same keys. */
  TRADING_SERVER_SEALING_KEYS: configFields.keyring,
  TRADING_SERVER_ALLOW_INSECURE: configFields.allowInsecure,
  /**
   * Base URL of the command-status service. It is asked for the open commands when a wallet shard
   * is synced, and for the states of commands with old reservations.
   */
  COMMAND_STATUS_URL: configFields.serviceUrl,
});
/** The parsed environment of this service. */
export type Config = z.output<typeof ConfigSchema>;
