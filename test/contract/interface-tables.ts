/**
 * The tables of the interface, transcribed by hand. Nothing is imported from the tested code, so
 * that an error there is not repeated here. A row that the interface does not have cites a section
 * of the decisions.
 */

export const SCOPES = [
  "credits:read",
  "accounts:read",
  "accounts:create",
  "accounts:update",
  "finance:deposit",
  "finance:withdraw",
  "metrics:read",
  // Decisions, 11.
  "webhooks:read",
  "webhooks:manage",
  // Decisions, 15.1.
  "risk:read",
  "risk:manage",
] as const;
export type Scope = (typeof SCOPES)[number];

/** The interface's "Errors". Tests replace the placeholder `<…>`. */
export const ERROR_TEXTS = {
  401: "Management API authentication required",
  402: "Insufficient API credits",
  403: "Missing API scope: <scope>",
  500: "Internal server error",
} as const;
/** Decisions, 1.2 and 7.5. */
export const SERVER_ACCESS_TEXT = "Missing server access: <serverId>";
export const RATE_LIMIT_TEXT = "Rate limit exceeded";

/** Prices in credits (decisions, 7.1). */
export const PRICES = { read: 1, mutation: 5, create: 10, bulkItem: 10, export: 20 } as const;

/** The interface's "Limits". */
export const LIMITS = {
  bulkItems: { min: 1, max: 100 },
  pageLimit: { min: 1, max: 100, default: 20 },
  page: { min: 1, default: 1 },
  idempotencyKey: { min: 1, max: 100 },
  requestId: { min: 1, max: 100 },
  accountName: { min: 1, max: 100 },
  password: { min: 8, max: 128 },
  accountNumber: { min: 4, max: 32 },
  initialBalance: { max: 1_000_000_000 },
  leverage: { min: 1, max: 10_000 },
  amount: { above: 0, max: 1_000_000_000 },
  description: { max: 250 },
  exportLimit: { min: 1, max: 1_000, default: 1_000 },
} as const;

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/** The kind of body that an operation accepts. A "request" has only a `requestId`. */
export type BodyKind =
  | "create"
  | "bulk"
  | "update"
  | "configuration"
  | "request"
  | "password"
  | "export"
  | "funds"
  | "rules"
  | "template";

export interface OperationRow {
  readonly name: string;
  readonly method: Method;
  readonly path: string;
  readonly scope: Scope;
  /** Whether the operation requires an idempotency key. */
  readonly key: boolean;
  readonly success: readonly number[];
  readonly errors: readonly number[];
  readonly price: keyof typeof PRICES;
  readonly body?: BodyKind;
  /**
   * Whether the operation always returns a page. `listTradingAccounts` returns a page only if the
   * query asks for one.
   */
  readonly paged?: true;
}

const ROOT = "/api/v1/management";
const SERVER = `${ROOT}/servers/{serverId}`;
const ACCOUNT = `${SERVER}/accounts/{accountNumber}`;
const TEMPLATE = `${SERVER}/risk-templates/{templateName}`;
const WITH_404 = [400, 401, 402, 403, 404, 500] as const;
const WITHOUT_404 = [400, 401, 402, 403, 500] as const;
const WITH_404_AND_409 = [400, 401, 402, 403, 404, 409, 500] as const;
const WITHOUT_400 = [401, 402, 403, 404, 500] as const;

/** The time `minutes` minutes ago, in the ISO 8601 form of queries. */
export function minutesAgo(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString();
}
const DAY_MS = 86_400_000;
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
/**
 * The last day with digests. In the harness, kapi makes the digests of a day 24 hours after the end
 * of the day.
 */
export const DIGEST_DATE = daysAgo(2);
/** A day that has ended, but whose digests are not complete in the harness. */
export const INCOMPLETE_DATE = daysAgo(1);

function row(
  name: string,
  [method, path]: readonly [Method, string],
  scope: Scope,
  key: boolean,
  success: readonly number[],
  errors: readonly number[],
  price: keyof typeof PRICES,
  more: Pick<OperationRow, "body" | "paged"> = {},
): OperationRow {
  return { name, method, path, scope, key, success, errors, price, ...more };
}

/** The operations of the interface, then the operations of the decisions. */
export const OPERATIONS: readonly OperationRow[] = [
  row("getCreditBalance", ["GET", `${ROOT}/credits/balance`], "credits:read", false, [200], WITHOUT_400, "read"),
  row("getServerConfiguration", ["GET", `${SERVER}/configuration`], "accounts:read", false, [200], WITHOUT_404, "read"),
  row(
    "updateServerConfiguration",
    ["PATCH", `${SERVER}/configuration`],
    "accounts:update",
    false,
    [200],
    WITHOUT_404,
    "mutation",
    { body: "configuration" },
  ),
  row("listTradingAccounts", ["GET", `${SERVER}/accounts`], "accounts:read", false, [200], WITHOUT_404, "read"),
  row(
    "createTradingAccount",
    ["POST", `${SERVER}/accounts`],
    "accounts:create",
    true,
    [200, 202],
    WITH_404_AND_409,
    "create",
    { body: "create" },
  ),
  row(
    "bulkCreateTradingAccounts",
    ["POST", `${SERVER}/accounts/bulk`],
    "accounts:create",
    true,
    [202],
    WITH_404_AND_409,
    "bulkItem",
    { body: "bulk" },
  ),
  row("getTradingAccount", ["GET", ACCOUNT], "accounts:read", false, [200], WITH_404, "read"),
  row("updateTradingAccount", ["PATCH", ACCOUNT], "accounts:update", true, [200, 202], WITH_404, "mutation", {
    body: "update",
  }),
  row("deleteTradingAccountImmediately", ["DELETE", ACCOUNT], "accounts:update", false, [200], WITHOUT_404, "mutation"),
  row(
    "listTradingAccountTransactions",
    ["GET", `${ACCOUNT}/transactions`],
    "accounts:read",
    false,
    [200],
    WITH_404,
    "read",
    { paged: true },
  ),
  row("listTradingAccountOrders", ["GET", `${ACCOUNT}/orders`], "accounts:read", false, [200], WITH_404, "read", {
    paged: true,
  }),
  row("list account positions", ["GET", `${ACCOUNT}/positions`], "accounts:read", false, [200], WITH_404, "read", {
    paged: true,
  }),
  row("list account deals", ["GET", `${ACCOUNT}/deals`], "accounts:read", false, [200], WITH_404, "read", {
    paged: true,
  }),
  row("Disable account", ["POST", `${ACCOUNT}/disable`], "accounts:update", true, [200, 202], WITH_404, "mutation", {
    body: "request",
  }),
  row("Archive account", ["POST", `${ACCOUNT}/archive`], "accounts:update", true, [200, 202], WITH_404, "mutation", {
    body: "request",
  }),
  row(
    "Reset trading password",
    ["POST", `${ACCOUNT}/password-reset`],
    "accounts:update",
    true,
    [200, 202],
    WITH_404,
    "mutation",
    { body: "password" },
  ),
  row(
    "Reset investor password",
    ["POST", `${ACCOUNT}/investor-password-reset`],
    "accounts:update",
    true,
    [200, 202],
    WITH_404,
    "mutation",
    { body: "password" },
  ),
  row(
    "Export account history",
    ["POST", `${ACCOUNT}/exports/history`],
    "accounts:read",
    true,
    [200, 202],
    WITH_404,
    "export",
    { body: "export" },
  ),
  row(
    "Deposit account funds",
    ["POST", `${ACCOUNT}/finance/deposits`],
    "finance:deposit",
    true,
    [200, 202],
    WITH_404,
    "mutation",
    { body: "funds" },
  ),
  row(
    "Withdraw account funds",
    ["POST", `${ACCOUNT}/finance/withdrawals`],
    "finance:withdraw",
    true,
    [200, 202],
    WITH_404,
    "mutation",
    { body: "funds" },
  ),
  row("getCommand", ["GET", `${ROOT}/commands/{commandId}`], "accounts:read", false, [200], WITHOUT_400, "read"),
  row("List account metrics", ["GET", `${SERVER}/account-metrics`], "metrics:read", false, [200], WITHOUT_404, "read"),
  // Decisions, 4.7.
  row("Enable account", ["POST", `${ACCOUNT}/enable`], "accounts:update", true, [200, 202], WITH_404, "mutation", {
    body: "request",
  }),
  row(
    "Queue account deletion",
    ["POST", `${ACCOUNT}/delete`],
    "accounts:update",
    true,
    [200, 202],
    WITH_404,
    "mutation",
    { body: "request" },
  ),
  // Decisions, 3.6.
  row("List commands", ["GET", `${SERVER}/commands`], "accounts:read", false, [200], WITHOUT_404, "read", {
    paged: true,
  }),
  // Decisions, 7.4.
  row(
    "Get credit prices",
    ["GET", `${ROOT}/credits/prices`],
    "credits:read",
    false,
    [200],
    [401, 402, 403, 500],
    "read",
  ),
  row(
    "List credit usage",
    ["GET", `${ROOT}/credits/usage`],
    "credits:read",
    false,
    [200],
    [400, 401, 402, 403, 500],
    "read",
    { paged: true },
  ),
  // Decisions, 21.
  row(
    "List daily digests",
    ["GET", `${SERVER}/digests?date=${DIGEST_DATE}`],
    "accounts:read",
    false,
    [200],
    WITH_404_AND_409,
    "read",
    { paged: true },
  ),
  // Decisions, 15.
  row("Flatten account", ["POST", `${ACCOUNT}/flatten`], "risk:manage", true, [200, 202], WITH_404, "mutation", {
    body: "request",
  }),
  row(
    "Set account close-only",
    ["POST", `${ACCOUNT}/close-only`],
    "risk:manage",
    true,
    [200, 202],
    WITH_404,
    "mutation",
    {
      body: "request",
    },
  ),
  row("Get risk rules", ["GET", `${ACCOUNT}/risk-rules`], "risk:read", false, [200], WITH_404, "read"),
  row("Set risk rules", ["PUT", `${ACCOUNT}/risk-rules`], "risk:manage", true, [200, 202], WITH_404, "mutation", {
    body: "rules",
  }),
  row(
    "Delete risk rules",
    ["DELETE", `${ACCOUNT}/risk-rules?requestId=contract`],
    "risk:manage",
    true,
    [200, 202],
    WITH_404,
    "mutation",
  ),
  // Decisions, 4.12. `pathOf` replaces {now} by the current time.
  row("Get account state", ["GET", `${ACCOUNT}/state?at={now}`], "risk:read", false, [200], WITH_404, "read"),
  // Decisions, 15.10.
  row("List risk templates", ["GET", `${SERVER}/risk-templates`], "risk:read", false, [200], WITH_404, "read"),
  row("Get risk template", ["GET", TEMPLATE], "risk:read", false, [200], WITH_404, "read"),
  row("Set risk template", ["PUT", TEMPLATE], "risk:manage", true, [200, 202], WITH_404, "mutation", {
    body: "template",
  }),
  row(
    "Delete risk template",
    ["DELETE", `${TEMPLATE}?requestId=contract&accountRules=keep`],
    "risk:manage",
    true,
    [200, 202],
    WITH_404,
    "mutation",
  ),
  // Decisions, 15 and 20.
  row("List risk breaches", ["GET", `${ACCOUNT}/breaches`], "risk:read", false, [200], WITH_404, "read", {
    paged: true,
  }),
  row(
    "Get interval evidence",
    ["GET", `${ACCOUNT}/evidence?from=${minutesAgo(6)}&to=${minutesAgo(1)}`],
    "risk:read",
    false,
    [200],
    WITH_404,
    "read",
  ),
  row(
    "Get breach evidence",
    ["GET", `${ACCOUNT}/breaches/{breachId}/evidence`],
    "risk:read",
    false,
    [200],
    WITH_404_AND_409,
    "read",
  ),
];
