import { USAGE_STREAM_LIMIT } from "@kapi/admission/redis";
import { alongside, configFields, connectionFields, needs } from "@kapi/runtime";
import { z } from "zod";

/** Connections to each owner: the maximum number of concurrent calls to it. */
export const OWNER_CONNECTIONS = 64;

/** Every setting of the gateway. */
export const ConfigSchema = z.object({
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  /**
   * Port on which the console calls operations for people; absent: people cannot act on accounts or
   * risk templates. Only services of kapi may reach it. The management API is not on it.
   */
  INTERNAL_PORT: alongside(configFields.httpPort.optional(), needs("SERVICE_TOKEN_DIGESTS")),
  /** The address on which INTERNAL_PORT listens. */
  INTERNAL_HOST: configFields.httpHost,
  LOG_LEVEL: configFields.logLevel,
  /**
   * Addresses or networks of the proxies before the API, separated by commas. Their X-Forwarded-For
   * header gives the caller's address. The request log, the audit log and the check of keys that
   * are limited to networks use this address. Absent: the header is ignored, and the caller's
   * address is that of the connection; behind a proxy it is the proxy's address.
   */
  TRUSTED_PROXIES: configFields.proxies.optional(),
  ...connectionFields.kafka,
  ...connectionFields.redis,
  /**
   * Maximum number of usage entries of a wallet shard in Redis while the ledger is unavailable;
   * above it, requests of the shard return 500. Set the same value for the metrics service.
   */
  USAGE_STREAM_LIMIT: configFields.integer(100, 100_000_000).default(USAGE_STREAM_LIMIT),
  SERVICE_TOKEN: configFields.serviceToken,
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests.optional(),
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Base URL of the account service: servers, accounts, orders, positions, deals, digests. */
  ACCOUNT_URL: configFields.serviceUrl,
  /** Base URL of the command-status service: commands. */
  COMMAND_STATUS_URL: configFields.serviceUrl,
  /** Base URL of the finance service: transactions, their digests, and balances. */
  FINANCE_URL: configFields.serviceUrl,
  /** Base URL of the metrics service: stored snapshots. */
  METRICS_URL: configFields.serviceUrl,
  /** Base URL of the organization service: credit usage. */
  ORGANIZATION_URL: configFields.serviceUrl,
  /** Base URL of the risk service: risk rules, templates, breaches and evidence. */
  RISK_URL: configFields.serviceUrl,
  /** Base URL of the webhooks service: endpoints, deliveries and the feed of events. */
  WEBHOOKS_URL: configFields.serviceUrl,
  /**
   * Maximum number of concurrent streamed lists of one organization in one process; one more is
   * answered 429. A process has 256 streams to the account service. The default leaves room for a
   * caller who reads several servers concurrently.
   */
  STREAMS_PER_ORGANIZATION: configFields.integer(1, 256).default(8),
  /**
   * Maximum number of concurrent calls of one organization to one service. The process has 64
   * connections to it. Further calls wait for their turn.
   */
  OWNER_CALLS_PER_ORGANIZATION: configFields.integer(1, OWNER_CONNECTIONS).default(32),
  /**
   * Maximum number of concurrent searches of one organization in one process; one more is answered
   * 429. A search may read all accounts of a server.
   */
  SEARCHES_PER_ORGANIZATION: configFields.integer(1, 256).default(4),
  /**
   * Maximum number of concurrent requests with `?wait=` of one organization in one process. For all
   * organizations together, the maximum is 1,000. One more request is answered at once with the
   * current state.
   */
  WAITS_PER_ORGANIZATION: configFields.integer(1, 1_000).default(100),
  /**
   * Keys of generated passwords (decisions, 5.2); the first one derives the passwords of new
   * commands. The account service has the same keys.
   */
  PASSWORD_DERIVATION_KEYS: configFields.keyring,
  /**
   * Keys of supplied passwords (decisions, 5.2); the first one encrypts them. The account service
   * has the same keys.
   */
  PASSWORD_SEALING_KEYS: configFields.keyring,
  /**
   * Key of the hash of a supplied password in a fingerprint (decisions, 2.3). All gateways have the
   * same key, and it never changes.
   */
  FINGERPRINT_KEY: configFields.secretKey,
});

export type Config = z.output<typeof ConfigSchema>;
