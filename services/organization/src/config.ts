import { fileURLToPath } from "node:url";

import { alongside, type CompanionCheck, ConfigError, configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

const BUILT_PAGE = fileURLToPath(new URL("../../console/page/dist", import.meta.url));

const MIN_POOL_SIZE = 2;
const MIN_KEPT_MONTHS = 3;
const MAX_KEPT_MONTHS = 1_200;
/** Months of credit entries before the current one, unless told otherwise. */
export const DEFAULT_KEPT_MONTHS = 25;

/** Secure cookies mean a proxy that speaks https. Unnamed, its address would be everybody's, and one person's failures all's. */
const proxyNamed: CompanionCheck = (given) =>
  given["CONSOLE_SECURE_COOKIES"] === "off" || given["CONSOLE_TRUSTED_PROXIES"] !== undefined
    ? null
    : "needs CONSOLE_TRUSTED_PROXIES, the addresses of the proxy before it: without them all people share one address " +
      "and lock each other out. On one machine, over http, set CONSOLE_SECURE_COOKIES=off instead";

/** The console, which is there where it has a port; it needs all the addresses then. */
const consoleFields = {
  /** Where people's browsers reach the console, through a proxy that speaks https. Nothing internal listens there. */
  CONSOLE_PORT: alongside(configFields.httpPort.optional(), proxyNamed),
  CONSOLE_HOST: configFields.httpHost,
  /** The folder of the built page. */
  CONSOLE_ASSETS: z.string().default(BUILT_PAGE),
  /** `off` only where the console is reached over http, as on the own machine: the session would be lost otherwise. */
  CONSOLE_SECURE_COOKIES: z.enum(["on", "off"]).default("on"),
  /**
   * Addresses or networks of the proxies before the console, with commas: their X-Forwarded-For tells who signs in, their
   * X-Forwarded-Host what the page's own origin is. Required unless CONSOLE_SECURE_COOKIES=off.
   */
  CONSOLE_TRUSTED_PROXIES: configFields.proxies.optional(),
  /** The base address of the management API as its callers reach it: the console shows it beside a new key. */
  CONSOLE_API_URL: configFields.serviceUrl.optional(),
  /** Asked for servers, accounts and their live values. */
  ACCOUNT_URL: configFields.serviceUrl.optional(),
  METRICS_URL: configFields.serviceUrl.optional(),
  /** Asked for webhook endpoints and what was sent to them. */
  WEBHOOKS_URL: configFields.serviceUrl.optional(),
};

/** The environment of the organization service. */
export const Config = z.object({
  /** Where the operator's routes and the health probes listen. */
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
  /** Shared with services of 0.1.0, both ways, while such services run; deleted in the release after the next. */
  INTERNAL_TOKEN: configFields.internalToken.optional(),
  /** Seal the tokens of trading servers, which account and finance open. */
  TRADING_SERVER_SEALING_KEYS: configFields.keyring,
  /** "true": trading servers may be registered with an address by http, on one machine alone. */
  TRADING_SERVER_ALLOW_INSECURE: configFields.allowInsecure,
  /** Asked for open reservations before wallets are set from the ledger. */
  COMMAND_STATUS_URL: configFields.serviceUrl,
  ...consoleFields,
});
export type Config = z.output<typeof Config>;

/** The configuration of a console that is there. */
export interface ConsoleConfig {
  readonly port: number;
  readonly host: string;
  readonly assets: string;
  readonly secureCookies: boolean;
  readonly trustedProxies: readonly string[];
  readonly apiUrl: string;
  readonly accountUrl: string;
  readonly metricsUrl: string;
  readonly webhooksUrl: string;
}

/** The console's part; null where there is none. Throws ConfigError where an address that it needs is missing. */
export function consoleConfig(config: Config): ConsoleConfig | null {
  if (config.CONSOLE_PORT === undefined) return null;
  const { CONSOLE_API_URL, ACCOUNT_URL, METRICS_URL, WEBHOOKS_URL } = config;
  if (!CONSOLE_API_URL || !ACCOUNT_URL || !METRICS_URL || !WEBHOOKS_URL) {
    const needed = "CONSOLE_API_URL, ACCOUNT_URL, METRICS_URL and WEBHOOKS_URL";
    throw new ConfigError([`CONSOLE_PORT: with it ${needed} are required`]);
  }
  return {
    port: config.CONSOLE_PORT,
    host: config.CONSOLE_HOST,
    assets: config.CONSOLE_ASSETS,
    secureCookies: config.CONSOLE_SECURE_COOKIES === "on",
    trustedProxies: config.CONSOLE_TRUSTED_PROXIES ?? [],
    apiUrl: CONSOLE_API_URL,
    accountUrl: ACCOUNT_URL,
    metricsUrl: METRICS_URL,
    webhooksUrl: WEBHOOKS_URL,
  };
}
