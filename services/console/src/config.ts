import { fileURLToPath } from "node:url";

import type { Keyring } from "@kapi/kernel";
import { alongside, type CompanionCheck, ConfigError, configFields, connectionFields, needs } from "@kapi/runtime";
import { z } from "zod";

/**
 * Default of REQUEST_LOG_PER_DAY: stored requests of one organization and day (UTC), about 950 MB.
 */
export const DEFAULT_REQUESTS_PER_DAY = 1_000_000;
const BUILT_PAGE = fileURLToPath(new URL("../page/dist", import.meta.url));

/**
 * Secure cookies imply an https proxy. If CONSOLE_TRUSTED_PROXIES does not name it, the console
 * sees all people at the proxy's address, and counts their failed sign-ins together.
 */
const proxyNamed: CompanionCheck = (given) =>
  given["CONSOLE_SECURE_COOKIES"] === "off" || given["CONSOLE_TRUSTED_PROXIES"] !== undefined
    ? null
    : "needs CONSOLE_TRUSTED_PROXIES, the addresses of the https proxy: without them all people share one address " +
      "and lock each other out. On one machine, over http, set CONSOLE_SECURE_COOKIES=off instead";

/** The listener for people. Without a port there is no listener. */
const consoleFields = {
  /** Port for browsers, without internal routes, behind an https proxy; absent: no page. */
  CONSOLE_PORT: alongside(configFields.httpPort.optional(), proxyNamed),
  /** The address on which CONSOLE_PORT listens. */
  CONSOLE_HOST: configFields.httpHost,
  /** The folder of the built page. */
  CONSOLE_ASSETS: z.string().default(BUILT_PAGE),
  /**
   * `on`: browsers keep and send the cookies over https only. `off`: also over http, which is only
   * for people on the machine of the console.
   */
  CONSOLE_SECURE_COOKIES: z.enum(["on", "off"], "must be on or off").default("on"),
  /**
   * Addresses or networks of trusted proxies, separated by commas. The console takes the client's
   * address from their X-Forwarded-For, and the host of the page from their X-Forwarded-Host.
   */
  CONSOLE_TRUSTED_PROXIES: configFields.proxies.optional(),
  /** Public base URL of the management API, shown beside a new key; required with CONSOLE_PORT. */
  CONSOLE_API_URL: configFields.serviceUrl.optional(),
  /** Public base URL of the console, without `/console`: for links in mails and OpenID Connect. */
  CONSOLE_PUBLIC_URL: configFields.serviceUrl.optional(),
  /**
   * Keys that encrypt the secrets of second factors. The first key encrypts new secrets. Keep an
   * old key while secrets are encrypted with it. Absent: nobody can set up two-factor
   * authentication, and codes of authenticator apps are rejected.
   */
  CONSOLE_SEALING_KEYS: configFields.keyring.optional(),
};

/** Mails with invitations and with links for forgotten passwords. */
const mailFields = {
  /**
   * Mail server, `smtp://` or `smtps://`, with user and password where needed. Absent: no mails;
   * owners pass the links of invitations on, and the operator resets forgotten passwords.
   */
  CONSOLE_SMTP_URL: alongside(
    z.url({ protocol: /^smtps?$/, error: "must be an address smtp://… or smtps://…" }).optional(),
    needs("CONSOLE_MAIL_FROM", "CONSOLE_PUBLIC_URL"),
  ),
  /** Sender of the mails: `kapi <kapi@example.com>`. */
  CONSOLE_MAIL_FROM: alongside(z.string().min(1, "must not be empty").optional(), needs("CONSOLE_SMTP_URL")),
};

const PROVIDER = ["CONSOLE_OIDC_CLIENT_ID", "CONSOLE_OIDC_CLIENT_SECRET", "CONSOLE_PUBLIC_URL"] as const;
const LOCAL_HTTP = /^http:\/\/(?:localhost|127\.0\.0\.1)(?::\d+)?(?:\/|$)/;

/** Sign-in by OpenID Connect. */
const providerFields = {
  /**
   * Issuer of the provider of OpenID Connect. Absent: no sign-in by OpenID Connect;
   * people sign in with their passwords. The provider must know the redirect address
   * `<CONSOLE_PUBLIC_URL>/console/api/sign-in/provider/callback`.
   */
  CONSOLE_OIDC_ISSUER: alongside(
    z
      .url({ protocol: /^https?$/, error: "must be an address https://…" })
      .refine((text) => text.startsWith("https://") || LOCAL_HTTP.test(text), "must be https, except on this machine")
      .optional(),
    needs(...PROVIDER),
  ),
  /** Id of the console at the provider. */
  CONSOLE_OIDC_CLIENT_ID: z.string().min(1, "must not be empty").optional(),
  /** Secret of the console at the provider. */
  CONSOLE_OIDC_CLIENT_SECRET: z.string().min(1, "must not be empty").optional(),
  /** Name of the provider, on the button of the sign-in page. */
  CONSOLE_OIDC_NAME: z.string().min(1, "must not be empty").default("your identity provider"),
  /**
   * `provider`: only the provider asks for a second factor. `console`: after the sign-in at the
   * provider, the console asks for the second factor that the person has in the console, if any.
   */
  CONSOLE_OIDC_SECOND_FACTOR: z.enum(["provider", "console"], "must be provider or console").default("console"),
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
  /**
   * Base URL of the account service: servers, accounts, orders, positions, deals and its entries of
   * the audit log.
   */
  ACCOUNT_URL: configFields.serviceUrl,
  /** Base URL of the command-status service: commands. */
  COMMAND_STATUS_URL: configFields.serviceUrl,
  /** Base URL of the finance service: transactions. */
  FINANCE_URL: configFields.serviceUrl,
  /** Base URL of the internal port of the gateway: actions of people on accounts and templates. */
  GATEWAY_URL: configFields.serviceUrl,
  /** Base URL of the metrics service: live and stored values of accounts. */
  METRICS_URL: configFields.serviceUrl,
  /** Base URL of the risk service: risk rules, risk templates, breaches and their evidence. */
  RISK_URL: configFields.serviceUrl,
  /** Base URL of the webhooks service: endpoints, deliveries and its entries of the audit log. */
  WEBHOOKS_URL: configFields.serviceUrl,
  /**
   * Maximum number of requests of one organization and day (UTC) that the request log stores.
   * Further requests of that day are only counted.
   */
  REQUEST_LOG_PER_DAY: configFields.integer(1_000, 100_000_000).default(DEFAULT_REQUESTS_PER_DAY),
  ...consoleFields,
  ...mailFields,
  ...providerFields,
});
/** The parsed environment of the console service. */
export type Config = z.output<typeof ConfigSchema>;

/** The configuration of the listener for people. */
export interface ConsoleConfig {
  readonly port: number;
  readonly host: string;
  readonly assets: string;
  readonly secureCookies: boolean;
  readonly trustedProxies: readonly string[];
  readonly apiUrl: string;
  /** Null: no two-factor authentication. */
  readonly sealingKeys: Keyring | null;
  /** Null: no mails. */
  readonly mail: { readonly url: string; readonly from: string; readonly publicUrl: string } | null;
  /** Null: no OpenID Connect. */
  readonly provider: ProviderConfig | null;
}

/** The provider of OpenID Connect. */
export interface ProviderConfig {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly publicUrl: string;
  /** The provider asks for the second factor, and the console does not ask at a sign-in. */
  readonly hasSecondFactor: boolean;
}

/**
 * Returns the configuration of the listener for people; null: CONSOLE_PORT is absent, and there is
 * no listener. Throws ConfigError if CONSOLE_API_URL is absent.
 */
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
    sealingKeys: config.CONSOLE_SEALING_KEYS ?? null,
    mail: mailConfig(config),
    provider: providerConfig(config),
  };
}

function mailConfig(config: Config): ConsoleConfig["mail"] {
  const { CONSOLE_SMTP_URL: url, CONSOLE_MAIL_FROM: from, CONSOLE_PUBLIC_URL: publicUrl } = config;
  return url === undefined || from === undefined || publicUrl === undefined ? null : { url, from, publicUrl };
}

function providerConfig(config: Config): ProviderConfig | null {
  const { CONSOLE_OIDC_ISSUER: issuer, CONSOLE_PUBLIC_URL: publicUrl } = config;
  const { CONSOLE_OIDC_CLIENT_ID: clientId, CONSOLE_OIDC_CLIENT_SECRET: clientSecret } = config;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined || publicUrl === undefined)
    return null;
  const hasSecondFactor = config.CONSOLE_OIDC_SECOND_FACTOR === "provider";
  return { name: config.CONSOLE_OIDC_NAME, issuer, clientId, clientSecret, publicUrl, hasSecondFactor };
}
