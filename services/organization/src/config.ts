import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

const MIN_POOL_SIZE = 2;
const MIN_KEPT_MONTHS = 3;
const MAX_KEPT_MONTHS = 1_200;
/** Months of credit entries before the current one, unless told otherwise. */
export const DEFAULT_KEPT_MONTHS = 25;

/** The environment of the organization service. */
export const Config = z.object({
  /** Where the internal routes and the health probes listen. */
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  ...connectionFields.postgres,
  /** Two at least: an opening of a wallet shard reads its wallets on a second connection. */
  POSTGRES_POOL_SIZE: configFields.integer(MIN_POOL_SIZE, 500).default(16),
  ...connectionFields.redis,
  /**
   * Months of credit entries that are kept before the current one. What is older is in wallets and
   * daily usage alone. Three at least: an entry that is told again is looked for in the month
   * before.
   */
  CREDIT_ENTRIES_KEPT_MONTHS: configFields.integer(MIN_KEPT_MONTHS, MAX_KEPT_MONTHS).default(DEFAULT_KEPT_MONTHS),
  /** Proves this service to those that it calls. */
  SERVICE_TOKEN: configFields.serviceToken,
  /** Those that may call this service: INTERNAL_CALLS says what. */
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  /**
   * Shared with services of 0.1.0, both ways, while such services run; deleted in the release after
   * the next.
   */
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Seal the tokens of trading servers, which account and finance open. */
  TRADING_SERVER_SEALING_KEYS: configFields.keyring,
  /** "true": trading servers may be registered with an address by http, on one machine alone. */
  TRADING_SERVER_ALLOW_INSECURE: configFields.allowInsecure,
  /** Asked for open reservations before wallets are set from the ledger. */
  COMMAND_STATUS_URL: configFields.serviceUrl,
});
export type Config = z.output<typeof Config>;
