/**
 * The internal routes of the organization service: the directory and the credits of organizations.
 */
import { z } from "zod";

import { GivenName, LowBalanceThresholdBody, UsageByDayAnswer, UsageByDayQuery } from "../http/console.ts";
import { CreditUsageAnswer, ListCreditUsageQuery, WalletAnswer } from "../http/credits.ts";
import { PageQuery, Pagination } from "../http/pagination.ts";
import { ServerStatus } from "../http/servers.ts";
import { AllowedNetworks, KeyEntry, ServerEntry } from "../messages/directory-entry.ts";
import { Prices } from "../prices.ts";
import { Scope } from "../scopes.ts";
import { Guid } from "../values.ts";
import { AUDIT_OUTBOX_ROUTES } from "./audit-outbox.ts";
import type { InternalRoutes } from "./route.ts";

/**
 * Maximum number of credits in a request: far above any wallet, and below the largest exact
 * integer.
 */
const MAX_CREDITS = 1_000_000_000_000;
const Credits = z.int().min(0).max(MAX_CREDITS);

/** Length of a trading server's token. */
const MIN_TOKEN_CHARACTERS = 16;
const MAX_TOKEN_CHARACTERS = 500;
/** A token is sent in an HTTP header: visible ASCII characters, without spaces. */
const TOKEN = /^[\x21-\x7e]*$/;

const NewKey = z.object({
  name: GivenName.default("Management key"),
  scopes: z.array(Scope).min(1),
  serverIds: z.array(Guid).nullable().default(null),
  expiresAt: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text).toISOString())
    .nullable()
    .default(null),
  rateLimit: KeyEntry.shape.rateLimit.default(null),
  allowedNetworks: AllowedNetworks.nullable().default(null),
});
const NewServer = z.object({
  serverId: Guid.optional(),
  tradingServerUrl: z.url({ protocol: /^https?$/ }),
  tradingServerToken: z
    .string()
    .min(MIN_TOKEN_CHARACTERS)
    .max(MAX_TOKEN_CHARACTERS)
    .regex(TOKEN, "must be of visible ASCII characters")
    .optional(),
  configuration: ServerEntry.shape.configuration,
});

/**
 * Records as the console and the operator's command line show them. Fields of later releases are
 * kept.
 */
const ShownKey = z.looseObject({
  keyId: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  serverIds: z.array(z.string()).nullable(),
  status: z.string(),
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
  rateLimit: z.object({ perSecond: z.number(), burst: z.number() }).nullable(),
  /** Absent in answers of the previous release. */
  allowedNetworks: z.array(z.string()).nullable().optional(),
});
export type ShownKey = z.infer<typeof ShownKey>;
const ShownServer = z.looseObject({
  serverId: z.guid(),
  status: z.string(),
  tradingServerUrl: z.string(),
  configuration: ServerEntry.shape.configuration.loose(),
});
export type ShownServer = z.infer<typeof ShownServer>;

/** A user as releases without the console service stored it; `passwordHash` is in PHC form. */
const FormerUser = z.object({
  userId: z.guid(),
  organizationId: z.guid(),
  organizationName: z.string(),
  email: z.string(),
  name: z.string(),
  passwordHash: z.string(),
  /** Rises with every change of the password, and when the user is disabled. */
  sessionVersion: z.int(),
  createdAt: z.string(),
  disabledAt: z.string().nullable(),
});
export type FormerUser = z.infer<typeof FormerUser>;
/** Maximum number of users per call. */
export const MAX_FORMER_USERS = 100;
/** Maximum number of keys per `readKeyNames` request. */
export const MAX_KEY_NAMES = 100;

const ORGANIZATION = "/internal/organizations/:organizationId";
const OPERATOR = { callers: ["operator"] } as const;
/** For the people of an organization. */
const CONSOLE = { callers: ["console"] } as const;
const OPERATOR_AND_CONSOLE = { callers: ["operator", "console"] } as const;
/** One page of a list. */
const LIST = { method: "GET", query: PageQuery } as const;
const pagination = Pagination.pick({ total: true, totalPages: true });
const CREATE = { ...OPERATOR, method: "POST", success: 201 } as const;

export const ORGANIZATION_ROUTES = {
  listCreditUsage: {
    method: "GET",
    path: `${ORGANIZATION}/credits/usage`,
    callers: ["gateway", "console"],
    query: ListCreditUsageQuery,
    answer: CreditUsageAnswer,
  },
  listOrganizations: {
    ...OPERATOR,
    ...LIST,
    path: "/internal/organizations",
    answer: z.object({
      organizations: z.array(z.object({ organizationId: z.guid(), name: z.string(), createdAt: z.string() })),
      pagination,
    }),
  },
  createOrganization: {
    ...CREATE,
    path: "/internal/organizations",
    body: z.object({
      name: z.string().min(1).max(200),
      credits: Credits,
      lowBalanceThreshold: Credits.optional(),
    }),
    answer: z.object({ organizationId: z.guid(), walletId: z.guid() }),
  },
  getOrganization: {
    ...CONSOLE,
    method: "GET",
    path: ORGANIZATION,
    answer: z.object({ organizationId: z.guid(), name: z.string() }),
  },
  listKeys: {
    ...OPERATOR_AND_CONSOLE,
    ...LIST,
    path: `${ORGANIZATION}/keys`,
    answer: z.object({ keys: z.array(ShownKey), pagination }),
  },
  createKey: {
    ...CREATE,
    ...OPERATOR_AND_CONSOLE,
    path: `${ORGANIZATION}/keys`,
    body: NewKey,
    /** The only answer with the key itself, `managementKey`. */
    answer: z.looseObject({ keyId: z.string(), managementKey: z.string(), key: ShownKey }),
  },
  revokeKey: {
    ...OPERATOR,
    method: "DELETE",
    path: "/internal/keys/:keyId",
    answer: z.looseObject({ keyId: z.string() }),
  },
  /** 404 for a key of another organization. */
  revokeOwnKey: {
    ...CONSOLE,
    method: "DELETE",
    path: `${ORGANIZATION}/keys/:keyId`,
    answer: z.object({ key: ShownKey }),
  },
  /** Names of keys, by key id. Unknown ids are left out. */
  readKeyNames: {
    ...CONSOLE,
    method: "POST",
    path: "/internal/keys/names",
    body: z.object({ keyIds: z.array(z.string()).min(1).max(MAX_KEY_NAMES) }),
    answer: z.object({ names: z.record(z.string(), z.string()) }),
  },
  listServers: {
    ...OPERATOR_AND_CONSOLE,
    ...LIST,
    path: `${ORGANIZATION}/servers`,
    answer: z.object({ servers: z.array(ShownServer), pagination }),
  },
  /** The servers of all organizations, without removed servers. */
  listAllServers: {
    ...OPERATOR,
    ...LIST,
    path: "/internal/servers",
    answer: z.object({ servers: z.array(ShownServer.extend({ organizationId: z.guid() })), pagination }),
  },
  registerServer: {
    ...CREATE,
    path: `${ORGANIZATION}/servers`,
    body: NewServer,
    answer: z.object({ serverId: z.guid() }),
  },
  /** 404 for a server of another organization. */
  getServer: {
    ...CONSOLE,
    method: "GET",
    path: `${ORGANIZATION}/servers/:serverId`,
    answer: z.object({ server: ShownServer }),
  },
  setServerStatus: {
    ...CONSOLE,
    method: "PUT",
    path: `${ORGANIZATION}/servers/:serverId/status`,
    body: z.object({ status: ServerStatus }),
    answer: z.object({ server: ShownServer }),
  },
  getCreditBalance: { ...OPERATOR_AND_CONSOLE, method: "GET", path: `${ORGANIZATION}/credits`, answer: WalletAnswer },
  purchaseCredits: {
    ...OPERATOR,
    method: "POST",
    path: `${ORGANIZATION}/credits`,
    body: z.object({ credits: Credits, purchaseId: Guid }),
    /** `isNew`: whether this request added the credits; release 0.1.0 does not say. */
    answer: z.object({ purchaseId: z.guid(), isNew: z.boolean().optional() }),
  },
  changeLowBalanceThreshold: {
    ...CONSOLE,
    method: "PUT",
    path: `${ORGANIZATION}/credits/threshold`,
    body: LowBalanceThresholdBody,
    answer: WalletAnswer,
  },
  listUsageByDay: {
    ...CONSOLE,
    method: "GET",
    path: `${ORGANIZATION}/credits/usage-by-day`,
    query: UsageByDayQuery,
    answer: UsageByDayAnswer,
  },
  changePrices: {
    ...OPERATOR,
    method: "PUT",
    path: "/internal/prices",
    body: Prices,
    answer: z.object({ prices: Prices }),
  },
  ...AUDIT_OUTBOX_ROUTES,
  /**
   * Users that the console service does not have, or has only as they were before their last
   * change; at most {@link MAX_FORMER_USERS}.
   */
  listFormerUsers: {
    ...CONSOLE,
    method: "GET",
    path: "/internal/former-users",
    answer: z.object({ users: z.array(FormerUser) }),
  },
  /** Reports that the console service has these users, each with this `sessionVersion`. */
  markUsersMoved: {
    ...CONSOLE,
    method: "POST",
    path: "/internal/former-users/moved",
    body: z.object({
      users: z
        .array(FormerUser.pick({ userId: true, sessionVersion: true }))
        .min(1)
        .max(MAX_FORMER_USERS),
    }),
    answer: z.object({ moved: z.number() }),
  },
} as const satisfies InternalRoutes;
