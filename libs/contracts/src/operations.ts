import type { z } from "zod";

import {
  AccountDetailsAnswer,
  BulkCreateTradingAccountsBody,
  CreateTradingAccountBody,
  DeletedAccountAnswer,
  DisableAccountBody,
  ListTradingAccountsQuery,
  RequestBody,
  ResetPasswordBody,
  TradingAccountsAnswer,
  UpdateTradingAccountBody,
} from "./http/accounts.ts";
import { AccountMetricsAnswer, ListAccountMetricsQuery } from "./http/account-metrics.ts";
import {
  BulkEnvelopesAnswer,
  CommandAnswer,
  CommandEnvelope,
  CommandsAnswer,
  GetCommandQuery,
  ListCommandsQuery,
  PasswordResetEnvelope,
} from "./http/commands.ts";
import { CreditPricesAnswer, CreditUsageAnswer, ListCreditUsageQuery, WalletAnswer } from "./http/credits.ts";
import { ExportAccountHistoryBody } from "./http/exports.ts";
import { FundsBody, ListTransactionsQuery, TransactionsAnswer } from "./http/finance.ts";
import {
  DealsAnswer,
  ListDealsQuery,
  ListOrdersQuery,
  ListPositionsQuery,
  OrdersAnswer,
  PositionsAnswer,
} from "./http/history.ts";
import { ServerAnswer, UpdateServerConfigurationBody } from "./http/servers.ts";
import { DIGEST_OPERATIONS } from "./digest-operations.ts";
import type { PriceClass } from "./prices.ts";
import type { Scope } from "./scopes.ts";
import { RISK_OPERATIONS } from "./risk-operations.ts";
import { WEBHOOK_OPERATIONS } from "./webhook-operations.ts";

/** One row of {@link OPERATIONS}, with the schemas of its request and of its answer. */
export interface OperationContract {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Fastify form: `:name` for a path parameter. */
  readonly path: string;
  readonly scope: Scope;
  /** Requires the header `Idempotency-Key`. */
  readonly idempotencyKey: boolean;
  readonly price: PriceClass;
  readonly success: readonly number[];
  /** Statuses of errors, in addition to 429 (decisions, 7.5). */
  readonly errors: readonly number[];
  /** Whether the path names a server, so that access to the server is checked. */
  readonly server: boolean;
  /**
   * Whether the operation concerns all servers of the organization. A key that is limited to some
   * servers gets 403.
   */
  readonly allServers?: true;
  /** Heading in the reference. */
  readonly group: OperationGroup;
  /** One line for the reference. */
  readonly summary: string;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly answer: z.ZodType;
}

export type OperationGroup =
  | "Credits"
  | "Servers"
  | "Accounts"
  | "History"
  | "Finance"
  | "Commands"
  | "Metrics"
  | "Risk"
  | "Webhooks";

const ROOT = "/api/v1/management";
const SERVER = `${ROOT}/servers/:serverId`;
const ACCOUNT = `${SERVER}/accounts/:accountNumber`;

/** A read of one account's records. */
const HISTORY = {
  method: "GET",
  scope: "accounts:read",
  idempotencyKey: false,
  price: "read",
  success: [200],
  errors: [400, 401, 402, 403, 404, 500],
  server: true,
  group: "History",
} as const;

/** A mutation of one account that is queued as a command. */
const QUEUED = {
  method: "POST",
  scope: "accounts:update",
  idempotencyKey: true,
  price: "mutation",
  success: [200, 202],
  errors: [400, 401, 402, 403, 404, 500],
  server: true,
  group: "Accounts",
  answer: CommandEnvelope,
} as const;

/** The operations served over HTTP, by their `operationId` in the OpenAPI document. */
export const OPERATIONS = {
  getCreditBalance: {
    method: "GET",
    path: `${ROOT}/credits/balance`,
    scope: "credits:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [401, 402, 403, 404, 500],
    server: false,
    group: "Credits",
    summary: "The organization's credit wallet",
    answer: WalletAnswer,
  },
  getCreditPrices: {
    method: "GET",
    path: `${ROOT}/credits/prices`,
    scope: "credits:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [401, 402, 403, 500],
    server: false,
    group: "Credits",
    summary: "What each kind of request costs",
    answer: CreditPricesAnswer,
  },
  listCreditUsage: {
    method: "GET",
    path: `${ROOT}/credits/usage`,
    scope: "credits:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [400, 401, 402, 403, 500],
    server: false,
    allServers: true,
    group: "Credits",
    summary: "Every billed request, newest first",
    query: ListCreditUsageQuery,
    answer: CreditUsageAnswer,
  },
  getServerConfiguration: {
    method: "GET",
    path: `${SERVER}/configuration`,
    scope: "accounts:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [400, 401, 402, 403, 500],
    server: true,
    group: "Servers",
    summary: "Configuration of a trading server",
    answer: ServerAnswer,
  },
  updateServerConfiguration: {
    method: "PATCH",
    path: `${SERVER}/configuration`,
    scope: "accounts:update",
    idempotencyKey: false,
    price: "mutation",
    success: [200],
    errors: [400, 401, 402, 403, 500],
    server: true,
    group: "Servers",
    summary: "Changes leverages and currency of a trading server, within the request",
    body: UpdateServerConfigurationBody,
    answer: ServerAnswer,
  },
  listTradingAccounts: {
    method: "GET",
    path: `${SERVER}/accounts`,
    scope: "accounts:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [400, 401, 402, 403, 500],
    server: true,
    group: "Accounts",
    summary: "The accounts of a server, newest first; all of them, or one page",
    query: ListTradingAccountsQuery,
    answer: TradingAccountsAnswer,
  },
  createTradingAccount: {
    method: "POST",
    path: `${SERVER}/accounts`,
    scope: "accounts:create",
    idempotencyKey: true,
    price: "create",
    success: [200, 202],
    errors: [400, 401, 402, 403, 404, 409, 500],
    server: true,
    group: "Accounts",
    summary: "Queues a new account; its passwords are in this answer only",
    body: CreateTradingAccountBody,
    answer: CommandEnvelope,
  },
  bulkCreateTradingAccounts: {
    method: "POST",
    path: `${SERVER}/accounts/bulk`,
    scope: "accounts:create",
    idempotencyKey: true,
    price: "bulkItem",
    success: [202],
    errors: [400, 401, 402, 403, 404, 409, 500],
    server: true,
    group: "Accounts",
    summary: "Queues up to 100 new accounts, each with an idempotency key of its own",
    body: BulkCreateTradingAccountsBody,
    answer: BulkEnvelopesAnswer,
  },
  getTradingAccount: {
    ...HISTORY,
    path: ACCOUNT,
    group: "Accounts",
    summary: "An account with its live values, and its access data without passwords",
    answer: AccountDetailsAnswer,
  },
  updateTradingAccount: {
    ...QUEUED,
    method: "PATCH",
    path: ACCOUNT,
    summary: "Queues a change of name or leverage",
    body: UpdateTradingAccountBody,
  },
  deleteTradingAccountImmediately: {
    method: "DELETE",
    path: ACCOUNT,
    scope: "accounts:update",
    idempotencyKey: false,
    price: "mutation",
    success: [200],
    errors: [400, 401, 402, 403, 500],
    server: true,
    group: "Accounts",
    summary: "Deletes an account, with its history and snapshots, within the request",
    answer: DeletedAccountAnswer,
  },
  enableAccount: {
    ...QUEUED,
    path: `${ACCOUNT}/enable`,
    summary: "Queues the enabling of a close-only, disabled or archived account",
    body: RequestBody,
  },
  disableAccount: {
    ...QUEUED,
    path: `${ACCOUNT}/disable`,
    summary: "Queues the disabling of an account: no new orders",
    body: DisableAccountBody,
  },
  archiveAccount: {
    ...QUEUED,
    path: `${ACCOUNT}/archive`,
    summary:
      "Queues the archiving of an account without open positions: no login, no trading, no deposits or withdrawals",
    body: RequestBody,
  },
  queueAccountDeletion: {
    ...QUEUED,
    path: `${ACCOUNT}/delete`,
    summary: "Queues the deletion of an account without open positions",
    body: RequestBody,
  },
  resetTradingPassword: {
    ...QUEUED,
    path: `${ACCOUNT}/password-reset`,
    summary: "Queues a new trading password, which the answer shows",
    body: ResetPasswordBody,
    answer: PasswordResetEnvelope,
  },
  resetInvestorPassword: {
    ...QUEUED,
    path: `${ACCOUNT}/investor-password-reset`,
    summary: "Queues a new investor password, which the answer shows",
    body: ResetPasswordBody,
    answer: PasswordResetEnvelope,
  },
  listTradingAccountTransactions: {
    ...HISTORY,
    path: `${ACCOUNT}/transactions`,
    summary: "The ledger of an account, newest first",
    query: ListTransactionsQuery,
    answer: TransactionsAnswer,
  },
  listTradingAccountOrders: {
    ...HISTORY,
    path: `${ACCOUNT}/orders`,
    summary: "The orders of an account, newest first",
    query: ListOrdersQuery,
    answer: OrdersAnswer,
  },
  listAccountPositions: {
    ...HISTORY,
    path: `${ACCOUNT}/positions`,
    summary: "The positions of an account, newest first; with status=open never stale",
    query: ListPositionsQuery,
    answer: PositionsAnswer,
  },
  listAccountDeals: {
    ...HISTORY,
    path: `${ACCOUNT}/deals`,
    summary: "The executions of an account, newest first",
    query: ListDealsQuery,
    answer: DealsAnswer,
  },
  exportAccountHistory: {
    ...QUEUED,
    path: `${ACCOUNT}/exports/history`,
    scope: "accounts:read",
    price: "export",
    group: "History",
    summary: "Queues an export of transactions, orders, positions and deals; the command's result carries it",
    body: ExportAccountHistoryBody,
  },
  depositAccountFunds: {
    ...QUEUED,
    path: `${ACCOUNT}/finance/deposits`,
    scope: "finance:deposit",
    group: "Finance",
    summary: "Queues a deposit",
    body: FundsBody,
  },
  withdrawAccountFunds: {
    ...QUEUED,
    path: `${ACCOUNT}/finance/withdrawals`,
    scope: "finance:withdraw",
    group: "Finance",
    summary: "Queues a withdrawal of at most the lower of balance and free margin",
    body: FundsBody,
  },
  getCommand: {
    method: "GET",
    path: `${ROOT}/commands/:commandId`,
    scope: "accounts:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [401, 402, 403, 404, 500],
    server: false,
    group: "Commands",
    summary: "A command as it is now; with `wait`, once it is final or the time is over",
    query: GetCommandQuery,
    answer: CommandAnswer,
  },
  listCommands: {
    method: "GET",
    path: `${SERVER}/commands`,
    scope: "accounts:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [400, 401, 402, 403, 500],
    server: true,
    group: "Commands",
    summary: "The commands of a server, newest first",
    query: ListCommandsQuery,
    answer: CommandsAnswer,
  },
  listAccountMetrics: {
    method: "GET",
    path: `${SERVER}/account-metrics`,
    scope: "metrics:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [400, 401, 402, 403, 500],
    server: true,
    group: "Metrics",
    summary: "Stored snapshots, newest first: one per account and minute in which it changed",
    query: ListAccountMetricsQuery,
    answer: AccountMetricsAnswer,
  },
  ...DIGEST_OPERATIONS,
  ...RISK_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
} as const satisfies Record<string, OperationContract>;

export type OperationId = keyof typeof OPERATIONS;

/** Path of the live stream on the stream's own address (interface, "Events"). */
export const LIVE_METRICS_PATH = `${ROOT}/live-metrics`;
/** The live stream needs this scope on the handshake. */
export const LIVE_METRICS_SCOPE: Scope = "metrics:read";
