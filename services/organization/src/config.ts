import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

const MIN_POOL_SIZE = 2;
const MIN_KEPT_MONTHS = 3;
const MAX_KEPT_MONTHS = 1_200;
export const DEFAULT_KEPT_MONTHS = 25;

export const ConfigSchema = z.object({
  /** Address of the internal routes and health probes. */
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  ...connectionFields.postgres,
  /** At least 2: syncing a wallet shard reads wallets on a second connection. */
  POSTGRES_POOL_SIZE: configFields.integer(MIN_POOL_SIZE, 500).default(16),
  ...connectionFields.redis,
  /**
   * Months of entries to keep before the current one; older ones stay only as sums. At least 3: a
   * repeated entry is looked for in the month before.
   */
  CREDIT_ENTRIES_KEPT_MONTHS: configFields.integer(MIN_KEPT_MONTHS, MAX_KEPT_MONTHS).default(DEFAULT_KEPT_MONTHS),
  /** Identifies this service to the services that it calls. */
  SERVICE_TOKEN: configFields.serviceToken,
  /** Services that may call this one; INTERNAL_CALLS says which routes. */
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  /** Shared with services of 0.1.0, in both directions; remove it in the release after the next. */
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Seal the tokens of trading servers; account and finance open them. */
  TRADING_SERVER_SEALING_KEYS: configFields.keyring,
  /** "true": allows http addresses of trading servers, for one machine only. */
  TRADING_SERVER_ALLOW_INSECURE: configFields.allowInsecure,
  /** Gives the open reservations before wallets are set from the ledger. */
  COMMAND_STATUS_URL: configFields.serviceUrl,
});
export type Config = z.output<typeof ConfigSchema>;
