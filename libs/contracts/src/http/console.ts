/**
 * The API of the console, under {@link CONSOLE_API}: the requests of the console's web page to the
 * console service, with the session of a person. The web page imports the types from here.
 *
 * Every request of a signed-in person carries the session cookie, and every such request but a GET
 * carries the session's `csrfToken` in {@link CSRF_HEADER}. Requests before the sign-in have
 * neither: the sign-in itself, invitations and the recovery of a password. Each session has its own
 * token. A sign-in, the acceptance of an invitation, a change of the password, and
 * POST /sessions/end-others open a new session. Errors have the form of the management API:
 * `{error, code, requestId, issues?}`; 401 without a session. The routes, bodies and answers below
 * `/webhooks` equal the management API (`http/webhooks.ts`).
 */
import { z } from "zod";

import { AllowedNetworks, KeyEntry } from "../messages/directory-entry.ts";
import { KeyUse } from "../messages/logged-request.ts";
import { SCOPES, Scope } from "../scopes.ts";
import { Currency, DateTime, queryInteger } from "../values.ts";
import { TradingAccount } from "./accounts.ts";
import { Wallet } from "./credits.ts";
import { RiskBreach } from "./risk.ts";
import { ConsolePermission, ConsoleRole } from "./console-roles.ts";
import { Leverage, Server, ServerStatus, UpdateServerConfigurationBody } from "./servers.ts";

/** The prefix of every path of the API. */
export const CONSOLE_API = "/console/api";
/** The cookie that names the session; scripts cannot read it. */
export const SESSION_COOKIE = "kapi_session";
/**
 * The session cookie over https. Browsers accept a `__Host-` cookie only from the host itself, so
 * no page of a neighbouring host can set it.
 */
export const SECURE_SESSION_COOKIE = `__Host-${SESSION_COOKIE}`;
/** Header that proves that a request comes from the console's own page. */
export const CSRF_HEADER = "x-csrf-token";

/**
 * Maximum length of a name that a person enters: of a person, an organization or a key. The console
 * shows a name as text, never as markup.
 */
export const MAX_NAME_CHARACTERS = 100;
const MAX_EMAIL_CHARACTERS = 254;
/** Minimum length of a user's password, in characters. */
export const MIN_USER_PASSWORD_CHARACTERS = 12;
const MAX_USER_PASSWORD_CHARACTERS = 200;
const MAX_CODE_CHARACTERS = 40;
/**
 * Maximum low-balance threshold, in credits: far above any wallet, and below the largest exact
 * integer.
 */
const MAX_THRESHOLD_CREDITS = 1_000_000_000_000;
/** Maximum number of days of usage per answer. */
const MAX_USAGE_DAYS = 90;
const DEFAULT_USAGE_DAYS = 30;

/** A person's e-mail address, by which they sign in; kept in lower case. */
export const Email = z.string().trim().toLowerCase().max(MAX_EMAIL_CHARACTERS).pipe(z.email());
/** Excludes line feeds and escape sequences of terminals. */
const NO_CONTROL_CHARACTERS = /^\P{Cc}*$/u;
/** A name that a person gives; spaces around it are dropped. */
export const GivenName = z
  .string()
  .trim()
  .min(1)
  .max(MAX_NAME_CHARACTERS)
  .regex(NO_CONTROL_CHARACTERS, "must not hold control characters");
/** A new password of a person. */
export const UserPassword = z.string().min(MIN_USER_PASSWORD_CHARACTERS).max(MAX_USER_PASSWORD_CHARACTERS);

/**
 * Body of POST /session. An e-mail address of a wrong form, or a password that is too short, is
 * answered with 401 like a wrong password. Empty and too long values are answered with 400.
 */
export const SignInBody = z.object({
  email: z.string().trim().toLowerCase().min(1).max(MAX_EMAIL_CHARACTERS),
  password: z.string().min(1).max(MAX_USER_PASSWORD_CHARACTERS),
});
export type SignInBody = z.infer<typeof SignInBody>;

/** A code of an authenticator app, or a recovery code. Spaces and dashes do not matter. */
export const SecondFactorCode = z
  .string()
  .max(MAX_CODE_CHARACTERS)
  .transform((text) => text.replaceAll(/[\s-]/g, "").toUpperCase())
  .pipe(z.string().min(1, "must be a code of your authenticator app, or a recovery code"));

/** Body of PUT /session/password; every other session of the person ends. */
export const ChangePasswordBody = z.object({
  currentPassword: SignInBody.shape.password,
  newPassword: UserPassword,
  /** A code of the second factor, if the person has one. */
  code: SecondFactorCode.optional(),
});
export type ChangePasswordBody = z.infer<typeof ChangePasswordBody>;

/** The two-factor authentication of a person. */
export const TwoFactorState = z.object({
  /** Whether the person has set it up. */
  enabled: z.boolean(),
  /** Whether the person must set it up before anything else. */
  mustEnrol: z.boolean(),
  /** Number of recovery codes that are not used. */
  recoveryCodesLeft: z.int().min(0),
});
export type TwoFactorState = z.infer<typeof TwoFactorState>;

/** Answer of GET /session, and of every request that opens a session: who is signed in. */
export const ConsoleSession = z.object({
  user: z.object({ id: z.uuid(), email: z.string(), name: z.string(), role: ConsoleRole }),
  /** What the role allows; `self` alone while `twoFactor.mustEnrol` is true. */
  permissions: z.array(ConsolePermission),
  organization: z.object({ id: z.uuid(), name: z.string() }),
  twoFactor: TwoFactorState,
  csrfToken: z.string(),
  /**
   * Base address of the management API for its callers. The console shows a `curl` line with this
   * address and a new key.
   */
  apiUrl: z.string(),
});
export type ConsoleSession = z.infer<typeof ConsoleSession>;

/** Answer of GET /credits and PUT /credits/threshold; 404 if the organization has no wallet. */
export const ConsoleCreditsAnswer = z.object({ balance: Wallet });
export type ConsoleCreditsAnswer = z.infer<typeof ConsoleCreditsAnswer>;

/** Body of PUT /credits/threshold, in credits. */
export const LowBalanceThresholdBody = z.object({ lowBalanceThreshold: z.int().min(0).max(MAX_THRESHOLD_CREDITS) });
export type LowBalanceThresholdBody = z.infer<typeof LowBalanceThresholdBody>;

/** Query of GET /credits/usage-by-day: the number of days; the last day is today (UTC). */
export const UsageByDayQuery = z.object({ days: queryInteger(1, MAX_USAGE_DAYS).default(DEFAULT_USAGE_DAYS) });

/** What one operation used on one day. */
export const DayUsage = z.object({
  operation: z.string(),
  /**
   * Number of billed requests; each item of a bulk counts. Refunds do not reduce it.
   */
  requests: z.int().min(0),
  /**
   * Credits charged minus credits refunded on that day; negative if refunds exceed charges.
   */
  credits: z.int(),
});
export type DayUsage = z.infer<typeof DayUsage>;

/**
 * Answer of GET /credits/usage-by-day: every requested day, oldest first. Each day has its
 * operations, the most credits first; a day without use has none. The credits of all days
 * together equal the sum of the lines of listCreditUsage in these days.
 */
export const UsageByDayAnswer = z.object({
  days: z.array(z.object({ day: z.iso.date(), operations: z.array(DayUsage) })),
});
export type UsageByDayAnswer = z.infer<typeof UsageByDayAnswer>;

/** A management key as the console shows it; never its secret. */
export const ConsoleKey = z.object({
  keyId: z.string(),
  name: z.string(),
  scopes: z.array(Scope),
  /** Null: all servers of the organization. */
  serverIds: z.array(z.guid()).nullable(),
  status: z.enum(["active", "revoked", "expired"]),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  /** Null also for a key that was revoked before this field existed. */
  revokedAt: z.iso.datetime().nullable(),
  rateLimit: KeyEntry.shape.rateLimit,
  /** Null: any network. Absent from an organization service of the previous release. */
  allowedNetworks: z.array(z.string()).nullable().optional(),
});
export type ConsoleKey = z.infer<typeof ConsoleKey>;

/** A key in the list, with its last use; null: no use since kapi began to log requests. */
export const ListedConsoleKey = ConsoleKey.extend({ lastUse: KeyUse.omit({ keyId: true }).nullable() });
export type ListedConsoleKey = z.infer<typeof ListedConsoleKey>;

/** Answer of GET /keys: revoked keys last, and otherwise the newest first. */
export const ConsoleKeysAnswer = z.object({ keys: z.array(ListedConsoleKey) });
export type ConsoleKeysAnswer = z.infer<typeof ConsoleKeysAnswer>;

/**
 * Body of POST /keys. The path of an issue is `name`, `expiresAt`, `scopes` or `allowedNetworks`,
 * and may also have the position in one of the two lists.
 */
export const CreateConsoleKeyBody = z.object({
  name: GivenName,
  scopes: z
    .array(Scope)
    .min(1)
    .max(SCOPES.length)
    .refine((scopes) => new Set(scopes).size === scopes.length, { error: "must not repeat a scope" }),
  /** Null: the key never expires. A time in the past is rejected. */
  expiresAt: DateTime.nullable().default(null),
  /** Networks from which the key may be used; null: any network. */
  allowedNetworks: AllowedNetworks.nullable().default(null),
});
export type CreateConsoleKeyBody = z.input<typeof CreateConsoleKeyBody>;

/** Answer of POST /keys: the only place where the key itself is shown. */
export const CreatedConsoleKeyAnswer = z.object({ key: ConsoleKey, managementKey: z.string() });
export type CreatedConsoleKeyAnswer = z.infer<typeof CreatedConsoleKeyAnswer>;

/** Answer of DELETE /keys/:keyId. */
export const ConsoleKeyAnswer = z.object({ key: ConsoleKey });
export type ConsoleKeyAnswer = z.infer<typeof ConsoleKeyAnswer>;

/** Answer of GET /scopes, in the order in which the console offers the scopes. */
export const ScopesAnswer = z.object({ scopes: z.array(z.object({ scope: Scope, description: z.string() })) });
export type ScopesAnswer = z.infer<typeof ScopesAnswer>;

/** A server as the console shows it. */
export const ConsoleServer = z.object({
  serverId: z.guid(),
  status: ServerStatus,
  configuration: Server.omit({ serverId: true, status: true }),
  /** Accounts that are not deleted. */
  accountCount: z.int().min(0),
});
export type ConsoleServer = z.infer<typeof ConsoleServer>;

/** Answer of GET /servers, oldest first. */
export const ConsoleServersAnswer = z.object({
  servers: z.array(ConsoleServer),
  /** Number of servers that are not in the answer: it has only the first 500. */
  serversLeftOut: z.int().min(0),
});
export type ConsoleServersAnswer = z.infer<typeof ConsoleServersAnswer>;

/** Body of PATCH /servers/:serverId; missing fields are unchanged. */
export const UpdateConsoleServerBody = z
  .object({
    status: ServerStatus.optional(),
    supportedLeverage: UpdateServerConfigurationBody.shape.supportedLeverage,
    defaultLeverage: Leverage.nullable().optional(),
    currency: Currency.optional(),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    path: ["status"],
    error: "at least one of status, supportedLeverage, defaultLeverage and currency must be given",
  });
export type UpdateConsoleServerBody = z.infer<typeof UpdateConsoleServerBody>;

/** Answer of PATCH /servers/:serverId. */
export const ConsoleServerAnswer = z.object({ server: ConsoleServer });
export type ConsoleServerAnswer = z.infer<typeof ConsoleServerAnswer>;

/**
 * Answer of GET /servers/:serverId/accounts/:accountNumber: the account without the `credentials`
 * of getTradingAccount, which must not reach a client application (interface, "Credentials").
 */
export const ConsoleAccountAnswer = z.object({ account: TradingAccount });
export type ConsoleAccountAnswer = z.infer<typeof ConsoleAccountAnswer>;

/**
 * Answer of GET /servers/:serverId/accounts/:accountNumber/breaches/:breachId. The answers of
 * `…/risk-rules`, `…/breaches` and `…/breaches/:breachId/evidence` equal those of getRiskRules,
 * listRiskBreaches and getBreachEvidence of the management API.
 */
export const ConsoleBreachAnswer = z.object({ breach: RiskBreach });
export type ConsoleBreachAnswer = z.infer<typeof ConsoleBreachAnswer>;

/**
 * Events of GET /servers/:serverId/accounts/:accountNumber/live (text/event-stream). `sample` has
 * an `AccountMetricsFrame`: the newest sample at once, and then, about once a second, the newest
 * sample if it is another one. Samples between them are left out. `end` has a {@link LiveEnd};
 * after this event the server closes the stream.
 */
export const LIVE_EVENTS = { sample: "sample", end: "end" } as const;
/**
 * Why the server ended a stream: the session ended, the account was deleted, or the server stops
 * (reconnect).
 */
export const LiveEnd = z.object({ reason: z.enum(["signed_out", "deleted", "restart"]) });
export type LiveEnd = z.infer<typeof LiveEnd>;
