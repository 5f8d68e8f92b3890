/** The internal routes of the account service. */
import { z } from "zod";

import {
  AccountDetailsAnswer,
  AccountStatus,
  DeletedAccountAnswer,
  ListTradingAccountsQuery,
  TradingAccount,
  TradingAccountsAnswer,
} from "../http/accounts.ts";
import { AccountState, AccountStateQuery } from "../http/account-state.ts";
import {
  DealsAnswer,
  ListDealsQuery,
  ListOrdersQuery,
  ListPositionsQuery,
  OrdersAnswer,
  PositionsAnswer,
} from "../http/history.ts";
import { RiskTemplateSelection } from "../http/risk-templates.ts";
import { Server, ServerAnswer, UpdateServerConfigurationBody } from "../http/servers.ts";
import { Quote, QuotesQuery } from "../messages/quote.ts";
import { Valuation } from "../messages/valuation.ts";
import { AccountNumber, Currency, Guid, Minor } from "../values.ts";
import { AUDIT_OUTBOX_ROUTES } from "./audit-outbox.ts";
import { DEAL_DIGESTS_ROUTE } from "./digests.ts";
import { HISTORY_ROUTE } from "./history.ts";
import { CUSTOMER_CALLERS, type InternalRoutes } from "./route.ts";

/** Maximum number of servers in a request about several servers. */
export const MAX_SERVER_OVERVIEWS = 100;
/** Maximum number of accounts in a request about several accounts, or in its answer. */
const MAX_ACCOUNTS = 1_000;

const SERVER = "/internal/servers/:serverId";
const ACCOUNT = `${SERVER}/accounts/:accountNumber`;

/** A read of one account's records. */
const RECORDS = { method: "GET", callers: CUSTOMER_CALLERS } as const;

export const ACCOUNT_ROUTES = {
  getServerConfiguration: {
    method: "GET",
    path: `${SERVER}/configuration`,
    callers: ["gateway"],
    answer: ServerAnswer,
  },
  updateServerConfiguration: {
    method: "PATCH",
    path: `${SERVER}/configuration`,
    callers: CUSTOMER_CALLERS,
    body: UpdateServerConfigurationBody,
    answer: ServerAnswer,
  },
  /** Without `page`, `limit` and `cursor`: all accounts, as a stream. */
  listTradingAccounts: {
    method: "GET",
    path: `${SERVER}/accounts`,
    callers: CUSTOMER_CALLERS,
    query: ListTradingAccountsQuery,
    answer: TradingAccountsAnswer,
  },
  getTradingAccount: { method: "GET", path: ACCOUNT, callers: CUSTOMER_CALLERS, answer: AccountDetailsAnswer },
  deleteTradingAccountImmediately: {
    method: "DELETE",
    path: ACCOUNT,
    callers: ["gateway"],
    answer: DeletedAccountAnswer,
  },
  listTradingAccountOrders: { ...RECORDS, path: `${ACCOUNT}/orders`, query: ListOrdersQuery, answer: OrdersAnswer },
  listAccountPositions: {
    ...RECORDS,
    path: `${ACCOUNT}/positions`,
    query: ListPositionsQuery,
    answer: PositionsAnswer,
  },
  listAccountDeals: { ...RECORDS, path: `${ACCOUNT}/deals`, query: ListDealsQuery, answer: DealsAnswer },
  readHistory: HISTORY_ROUTE,
  /**
   * The positions that were open at the time `at`. Before the read, the account's events are booked
   * up to the trading server's sequence. Returns 500 if that is not possible within 2 s.
   */
  readOpenPositions: {
    method: "GET",
    callers: ["gateway", "risk"],
    path: `${ACCOUNT}/open-positions`,
    query: AccountStateQuery,
    answer: AccountState.pick({ currency: true, positionCount: true, positions: true }).extend({
      /** When the account was created. */
      createdAt: z.iso.datetime(),
    }),
  },
  readDealDigests: DEAL_DIGESTS_ROUTE,
  readServerOverviews: {
    method: "POST",
    path: "/internal/servers/overview",
    callers: ["console"],
    body: z.object({ serverIds: z.array(Guid).max(MAX_SERVER_OVERVIEWS) }),
    /**
     * In the order of the request; null for an unknown server. Deleted accounts are not counted.
     */
    answer: z.object({
      servers: z.array(z.object({ server: Server, accountCount: z.int().min(0) }).nullable()),
    }),
  },
  findExistingAccounts: {
    method: "POST",
    path: "/internal/accounts/existing",
    callers: ["gateway", "metrics", "console"],
    body: z.object({
      accounts: z.array(z.object({ serverId: Guid, accountNumber: z.string().max(32) })).max(MAX_ACCOUNTS),
    }),
    /**
     * In the order of the request. An id is null if there is no such account, or if the account is
     * deleted. Release 0.1.0 sends no ids.
     */
    answer: z.object({ existing: z.array(z.boolean()), ids: z.array(z.string().nullable()).optional() }),
  },
  /**
   * Accounts of a server with their live values, in the order of the request; null: unknown or
   * deleted.
   */
  readAccountRecords: {
    method: "POST",
    path: `${SERVER}/accounts/records`,
    callers: ["console"],
    body: z.object({ accountNumbers: z.array(AccountNumber).max(MAX_ACCOUNTS) }),
    answer: z.object({ accounts: z.array(TradingAccount.nullable()) }),
  },
  /**
   * The names and creation times by which metrics searches and sorts accounts, in the order of the
   * request; null: unknown or deleted.
   */
  describeAccounts: {
    method: "POST",
    path: "/internal/accounts/descriptions",
    callers: ["metrics"],
    body: z.object({
      accounts: z.array(z.object({ serverId: Guid, accountNumber: z.string().max(32) })).max(MAX_ACCOUNTS),
    }),
    answer: z.object({
      accounts: z.array(z.object({ accountName: z.string(), createdAt: z.iso.datetime() }).nullable()),
    }),
  },
  /** How many accounts of each server are in each state, in the order of the request. */
  countAccountsByState: {
    method: "POST",
    path: "/internal/servers/account-counts",
    callers: ["console"],
    body: z.object({ serverIds: z.array(Guid).max(MAX_SERVER_OVERVIEWS) }),
    answer: z.object({ servers: z.array(z.partialRecord(AccountStatus, z.int().min(0))) }),
  },
  /**
   * The result of the last check of each trading server, in the order of the request. A process
   * checks a trading server at most once in 5 s.
   */
  checkTradingServers: {
    method: "POST",
    path: "/internal/servers/checks",
    callers: ["console"],
    body: z.object({ serverIds: z.array(Guid).max(MAX_SERVER_OVERVIEWS) }),
    answer: z.object({
      servers: z.array(
        z.object({
          /**
           * Also true if no check was sent yet, because too many calls of the server's organization
           * wait.
           */
          answers: z.boolean(),
          /** When the trading server last answered a check by this process; null: unknown. */
          answeredAt: z.iso.datetime().nullable(),
        }),
      ),
    }),
  },
  /**
   * An account for its risk rules. `valuation` has the current values of the account on the trading
   * server; null if the trading server has none. 500 while the trading server does not answer. The
   * query `valuation=none` returns null without asking the trading server.
   */
  readAccountForRisk: {
    method: "GET",
    path: `${ACCOUNT}/risk`,
    callers: ["risk"],
    query: z.object({ valuation: z.enum(["current", "none"]).default("current") }),
    answer: z.object({
      accountId: Guid,
      organizationId: Guid,
      currency: Currency,
      accountName: z.string(),
      status: AccountStatus,
      initialBalanceMinor: Minor,
      valuation: Valuation.nullable(),
    }),
  },
  /**
   * For each symbol the last quote of the trading server at or before `at`; a symbol without one is
   * left out. Null: the trading server gives no quotes. 500 while the trading server does not
   * answer.
   */
  readQuotes: {
    method: "GET",
    path: `${SERVER}/quotes`,
    callers: ["risk"],
    query: QuotesQuery,
    answer: z.object({ quotes: z.array(Quote).nullable() }),
  },
  /** How many accounts of a server the selection of a risk template matches. */
  countSelectedAccounts: {
    method: "POST",
    path: `${SERVER}/accounts/selected/count`,
    callers: ["gateway", "risk"],
    body: z.object({ selection: RiskTemplateSelection }),
    answer: z.object({ accounts: z.int().min(0) }),
  },
  /**
   * The accounts that the selection of a risk template matches, in the order of their numbers as
   * text.
   */
  listSelectedAccounts: {
    method: "POST",
    path: `${SERVER}/accounts/selected`,
    callers: ["risk"],
    body: z.object({
      selection: RiskTemplateSelection,
      /** Only accounts whose number comes after this one; empty: from the first one. */
      after: z.string().max(32),
      limit: z.int().min(1).max(MAX_ACCOUNTS),
    }),
    answer: z.object({ accountNumbers: z.array(AccountNumber) }),
  },
  ...AUDIT_OUTBOX_ROUTES,
} as const satisfies InternalRoutes;
