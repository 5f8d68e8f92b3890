import { fileURLToPath } from "node:url";

import { alongside, type CompanionCheck, ConfigError, configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

/** Requests of an organization and day that the request log keeps by default: about 950 MB. */
export const DEFAULT_REQUESTS_PER_DAY = 1_000_000;
const BUILT_PAGE = fileURLToPath(new URL("../page/dist", import.meta.url));

/**
 * Secure cookies imply an https proxy. If CONSOLE_TRUSTED_PROXIES does not name it, all people
 * share the proxy's address and failed sign-ins.
 */
const proxyNamed: CompanionCheck = (given) =>
  given["CONSOLE_SECURE_COOKIES"] === "off" || given["CONSOLE_TRUSTED_PROXIES"] !== undefined
    ? null
    : "needs CONSOLE_TRUSTED_PROXIES, the addresses of the proxy before it: without them all people share one address " +
      "and lock each other out. On one machine, over http, set CONSOLE_SECURE_COOKIES=off instead";

/** The listener for people. Without a port there is no listener. */
const consoleFields = {
  /** Port for browsers, behind an https proxy; absent: no page. No internal route is on it. */
  CONSOLE_PORT: alongside(configFields.httpPort.optional(), proxyNamed),
  /** The address on which CONSOLE_PORT listens. */
  CONSOLE_HOST: configFields.httpHost,
  /** The folder of the built page. */
  CONSOLE_ASSETS: z.string().default(BUILT_PAGE),
  /** `off` only for http on one machine: browsers would drop the session otherwise. */
  CONSOLE_SECURE_COOKIES: z.enum(["on", "off"], "must be on or off").default("on"),
  /**
   * Addresses or networks of trusted proxies, separated by commas. Their X-Forwarded-For gives the
   * client, their X-Forwarded-Host the origin of the page.
   */
  CONSOLE_TRUSTED_PROXIES: configFields.proxies.optional(),
  /** Public base URL of the management API, shown beside a new key; required with CONSOLE_PORT. */
  CONSOLE_API_URL: configFields.serviceUrl.optional(),
};

/** The environment of the console service. */
export const ConfigSchema = z.object({
  /** The address on which the operator's routes and the health probes listen. */
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  ...connectionFields.postgres,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  ...connectionFields.redis,
  SERVICE_TOKEN: configFields.serviceToken,
  SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /**
   * Base URL of the organization service: organizations, keys, servers, credits and its entries of
   * the audit log.
   */
  ORGANIZATION_URL: configFields.serviceUrl,
  /** Base URL of the account service: servers, accounts and its entries of the audit log. */
  ACCOUNT_URL: configFields.serviceUrl,
  /** Base URL of the command-status service: commands. */
  COMMAND_STATUS_URL: configFields.serviceUrl,
  /** Base URL of the internal port of the gateway: actions of people on accounts. */
  GATEWAY_URL: configFields.serviceUrl,
  /** Base URL of the metrics service: live values. */
  METRICS_URL: configFields.serviceUrl,
  /** Base URL of the risk service: risk rules, breaches and their evidence. */
  RISK_URL: configFields.serviceUrl,
  /** Base URL of the webhooks service: endpoints, deliveries and its entries of the audit log. */
  WEBHOOKS_URL: configFields.serviceUrl,
  /**
   * Maximum number of requests of one organization that the request log keeps for one day. Further
   * requests are only counted.
   */
  REQUEST_LOG_PER_DAY: configFields.integer(1_000, 100_000_000).default(DEFAULT_REQUESTS_PER_DAY),
  ...consoleFields,
});
export type Config = z.output<typeof ConfigSchema>;

/** The configuration of the listener for people. */
export interface ConsoleConfig {
  readonly port: number;
  readonly host: string;
  readonly assets: string;
  readonly secureCookies: boolean;
  readonly trustedProxies: readonly string[];
  readonly apiUrl: string;
}

/** Null: no listener. Throws ConfigError without the address of the API. */
export function consoleConfig(config: Config): ConsoleConfig | null {
  if (config.CONSOLE_PORT === undefined) return null;
  if (config.CONSOLE_API_URL === undefined)
    throw new ConfigError(["CONSOLE_PORT: with it CONSOLE_API_URL is required"]);
  return {
    port: config.CONSOLE_PORT,
    host: config.CONSOLE_HOST,
    assets: config.CONSOLE_ASSETS,
    secureCookies: config.CONSOLE_SECURE_COOKIES === "on",
    trustedProxies: config.CONSOLE_TRUSTED_PROXIES ?? [],
    apiUrl: config.CONSOLE_API_URL,
  };
}
