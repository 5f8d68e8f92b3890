import { USAGE_STREAM_LIMIT } from "@kapi/admission/redis";
import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

/** Connections to each of the services behind the gateway, and so calls under way at once. */
export const OWNER_CONNECTIONS = 64;

/** Everything that this service can be told, by the name of its environment variable. */
export const ConfigSchema = z.object({
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  LOG_LEVEL: configFields.logLevel,
  /**
   * Addresses or networks of the proxies before the API, with commas: their X-Forwarded-For tells
   * the address of a caller, for the audit log. Without it that is the proxy's.
   */
  TRUSTED_PROXIES: configFields.proxies.optional(),
  ...connectionFields.kafka,
  ...connectionFields.redis,
  /**
   * Most usage entries of a tag that wait in Redis while the ledger is away; beyond them its
   * requests are answered 500.
   */
  USAGE_STREAM_LIMIT: configFields.integer(100, 100_000_000).default(USAGE_STREAM_LIMIT),
  /** Proves this service to those that it calls. */
  SERVICE_TOKEN: configFields.serviceToken,
  /**
   * Shared with services of 0.1.0, both ways, while such services run; deleted in the release after
   * the next.
   */
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  ACCOUNT_URL: configFields.serviceUrl,
  COMMAND_STATUS_URL: configFields.serviceUrl,
  /** Base address of the finance service: transactions. */
  FINANCE_URL: configFields.serviceUrl,
  /** Base address of the metrics service: stored snapshots. */
  METRICS_URL: configFields.serviceUrl,
  /** Base address of the organization service: credit usage. */
  ORGANIZATION_URL: configFields.serviceUrl,
  /** Base address of the webhooks service: endpoints, deliveries and the feed of events. */
  WEBHOOKS_URL: configFields.serviceUrl,
  /**
   * Shares of an organization in one process; above them 429, of waits the state now. A caller who
   * reads several servers at once has room for it, and a process has 256 streams to the account
   * service.
   */
  STREAMS_PER_ORGANIZATION: configFields.integer(1, 256).default(8),
  /**
   * Calls to each of the services behind the gateway, of {@link OWNER_CONNECTIONS}; others wait for
   * their turn.
   */
  OWNER_CALLS_PER_ORGANIZATION: configFields.integer(1, OWNER_CONNECTIONS).default(32),
  /** Searches among a server's accounts; each may read all of them. */
  SEARCHES_PER_ORGANIZATION: configFields.integer(1, 256).default(4),
  /** Requests with `?wait=`, of 1,000 in all. */
  WAITS_PER_ORGANIZATION: configFields.integer(1, 1_000).default(100),
  /** Generated passwords are derived from these; the account service has the same. */
  PASSWORD_DERIVATION_KEYS: configFields.keyring,
  /** Supplied passwords travel under these; the account service opens them. */
  PASSWORD_SEALING_KEYS: configFields.keyring,
  /**
   * Keys the hash by which a supplied password enters a fingerprint; all gateways have the same,
   * for good.
   */
  FINGERPRINT_KEY: configFields.secretKey,
});

export type Config = z.output<typeof ConfigSchema>;
