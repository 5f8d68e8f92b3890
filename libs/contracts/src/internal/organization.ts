/** The internal routes of the organization service: credit usage for the gateway, all others for the operator. */
import { z } from "zod";

import { ListAuditQuery } from "../http/audit.ts";
import { Email, GivenName, UserPassword } from "../http/console.ts";
import { CreditUsageAnswer, WalletAnswer } from "../http/credits.ts";
import { PageQuery, Pagination } from "../http/pagination.ts";
import { KeyEntry, ServerEntry } from "../messages/directory-entry.ts";
import { Prices } from "../prices.ts";
import { Scope } from "../scopes.ts";
import { Guid } from "../values.ts";
import type { InternalRoutes } from "./route.ts";

/** Far above any wallet, and below the largest exact integer. */
const MAX_CREDITS = 1_000_000_000_000;
const Credits = z.int().min(0).max(MAX_CREDITS);

/** Length of a trading server's token. */
const MIN_TOKEN_CHARACTERS = 16;
const MAX_TOKEN_CHARACTERS = 500;
/** Characters that an HTTP header can carry. */
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
const NewPassword = z.object({ password: UserPassword.optional() });

/** Records as the operator's command line shows them. With `--json` it also prints fields of later releases. */
const OperatorKey = z.looseObject({
  keyId: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  serverIds: z.array(z.string()).nullable(),
  status: z.string(),
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
  rateLimit: z.object({ perSecond: z.number(), burst: z.number() }).nullable(),
});
const OperatorServer = z.looseObject({
  serverId: z.guid(),
  status: z.string(),
  tradingServerUrl: z.string(),
  configuration: z.looseObject({ serverName: z.string(), currency: z.string(), environment: z.string() }),
});
const OperatorUser = z.looseObject({
  userId: z.guid(),
  email: z.string(),
  name: z.string(),
  createdAt: z.string(),
  disabledAt: z.string().nullable(),
});
const OperatorAuditEntry = z.looseObject({
  id: z.string(),
  at: z.string(),
  organizationId: z.string().nullable(),
  action: z.string(),
  actor: z.looseObject({ type: z.string(), id: z.string().nullable(), name: z.string().nullable() }).nullable(),
  address: z.string().nullable(),
  subject: z.looseObject({ type: z.string(), id: z.string() }).nullable(),
  details: z.record(z.string(), z.unknown()),
});
export type OperatorAuditEntry = z.infer<typeof OperatorAuditEntry>;

const ORGANIZATION = "/internal/organizations/:organizationId";
const OPERATOR = { callers: ["operator"] } as const;
/** One page of a list. */
const LIST = { ...OPERATOR, method: "GET", query: PageQuery } as const;
const pagination = Pagination.pick({ totalPages: true });
const CREATE = { ...OPERATOR, method: "POST", success: 201 } as const;

export const ORGANIZATION_ROUTES = {
  listCreditUsage: {
    method: "GET",
    path: `${ORGANIZATION}/credits/usage`,
    callers: ["gateway"],
    query: PageQuery,
    answer: CreditUsageAnswer,
  },
  /** Entries of one organization, or of all. */
  listAuditLog: {
    ...OPERATOR,
    method: "GET",
    path: "/internal/audit",
    query: ListAuditQuery.extend({ organizationId: Guid.optional() }),
    answer: z.object({ entries: z.array(OperatorAuditEntry), next: z.string().nullable() }),
  },
  listOrganizations: {
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
  listUsers: {
    ...LIST,
    path: `${ORGANIZATION}/users`,
    answer: z.object({ users: z.array(OperatorUser), pagination }),
  },
  createUser: {
    ...CREATE,
    path: `${ORGANIZATION}/users`,
    body: NewPassword.extend({ email: Email, name: GivenName }),
    /** `password` only when it was generated. */
    answer: z.object({ userId: z.guid(), password: z.string().optional() }),
  },
  resetUserPassword: {
    ...OPERATOR,
    method: "PUT",
    path: "/internal/users/:userId/password",
    body: NewPassword.nullish().transform((given) => given ?? {}),
    answer: z.object({ password: z.string().optional() }),
  },
  disableUser: {
    ...OPERATOR,
    method: "DELETE",
    path: "/internal/users/:userId",
    answer: z.object({ userId: z.string(), disabled: z.boolean() }),
  },
  listKeys: {
    ...LIST,
    path: `${ORGANIZATION}/keys`,
    answer: z.object({ keys: z.array(OperatorKey), pagination }),
  },
  createKey: {
    ...CREATE,
    path: `${ORGANIZATION}/keys`,
    body: NewKey,
    answer: z.looseObject({ keyId: z.string(), managementKey: z.string() }),
  },
  revokeKey: {
    ...OPERATOR,
    method: "DELETE",
    path: "/internal/keys/:keyId",
    answer: z.looseObject({ keyId: z.string() }),
  },
  listServers: {
    ...LIST,
    path: `${ORGANIZATION}/servers`,
    answer: z.object({ servers: z.array(OperatorServer), pagination }),
  },
  registerServer: {
    ...CREATE,
    path: `${ORGANIZATION}/servers`,
    body: NewServer,
    answer: z.object({ serverId: z.guid() }),
  },
  getCreditBalance: { ...OPERATOR, method: "GET", path: `${ORGANIZATION}/credits`, answer: WalletAnswer },
  purchaseCredits: {
    ...OPERATOR,
    method: "POST",
    path: `${ORGANIZATION}/credits`,
    body: z.object({ credits: Credits, purchaseId: Guid }),
    answer: z.object({ purchaseId: z.guid() }),
  },
  changePrices: {
    ...OPERATOR,
    method: "PUT",
    path: "/internal/prices",
    body: Prices,
    answer: z.object({ prices: Prices }),
  },
} as const satisfies InternalRoutes;
