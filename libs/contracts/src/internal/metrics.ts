/** The internal routes of the metrics service. */
import { z } from "zod";

import { AccountMetricsAnswer, ListAccountMetricsQuery } from "../http/account-metrics.ts";
import {
  AccountFilterValues,
  AccountOrder,
  EquityHistory,
  MAX_EQUITY_POINTS,
  StoredAccountValues,
} from "../http/console-accounts.ts";
import { AccountMetricsFrame } from "../live/frames.ts";
import { AccountNumber, DateTime, Guid, queryInteger } from "../values.ts";
import type { InternalRoutes } from "./route.ts";

/** Maximum number of accounts per `readLatestSamples` request. */
export const MAX_SAMPLED_ACCOUNTS = 1_000;

/** Maximum number of accounts per `rankAccounts` and `readStoredValues` request. */
export const MAX_RANKED_ACCOUNTS = 1_000;
/** Maximum number of servers per `summarizeEquity` request. */
export const MAX_SUMMARIZED_SERVERS = 100;
/** Maximum length of the range of an equity history, in days. */
export const MAX_EQUITY_HISTORY_DAYS = 31;
const DAY_MS = 86_400_000;

const SERVER = "/internal/servers/:serverId";
const Limit = z.int().min(1).max(MAX_RANKED_ACCOUNTS);

export const METRICS_ROUTES = {
  listAccountMetrics: {
    method: "GET",
    path: `${SERVER}/account-metrics`,
    callers: ["gateway"],
    query: ListAccountMetricsQuery.extend({ organizationId: Guid }),
    answer: AccountMetricsAnswer,
  },
  /**
   * Equity of an account from `from` (inclusive) to `to` (exclusive). The range is divided into
   * equal parts of whole minutes, with at most one point each. 404 for a server of another
   * organization; an unknown account has no points.
   */
  readEquityHistory: {
    method: "GET",
    path: `${SERVER}/accounts/:accountNumber/equity-history`,
    callers: ["console"],
    query: z
      .object({
        organizationId: Guid,
        from: DateTime,
        to: DateTime,
        points: queryInteger(1, MAX_EQUITY_POINTS).default(MAX_EQUITY_POINTS),
      })
      .refine(({ from, to }) => from < to, { path: ["to"], error: "must be after from" })
      .refine(({ from, to }) => Date.parse(to) - Date.parse(from) <= MAX_EQUITY_HISTORY_DAYS * DAY_MS, {
        path: ["from"],
        error: `must be at most ${MAX_EQUITY_HISTORY_DAYS} days before to`,
      }),
    answer: EquityHistory,
  },
  deleteAccount: {
    method: "DELETE",
    path: `${SERVER}/accounts/:accountNumber`,
    callers: ["account"],
    answer: z.object({}),
  },
  readLatestSamples: {
    method: "POST",
    path: "/internal/samples/latest",
    /** `metrics`: a process with only some accounts asks a process that answers for all. */
    callers: ["account", "console", "metrics"],
    /** Accounts of one server, or of several servers. */
    body: z.union([
      z.object({ serverId: Guid, accountNumbers: z.array(AccountNumber).max(MAX_SAMPLED_ACCOUNTS) }),
      z.object({
        accounts: z.array(z.object({ serverId: Guid, accountNumber: AccountNumber })).max(MAX_SAMPLED_ACCOUNTS),
      }),
    ]),
    /** In the order of the request; null for an account without a sample. */
    answer: z.object({ samples: z.array(AccountMetricsFrame.nullable()) }),
  },
  /** The newest samples that a windows process holds itself. */
  readHeldSamples: {
    method: "POST",
    path: "/internal/samples/held",
    callers: ["metrics"],
    body: z.object({
      accounts: z.array(z.object({ serverId: Guid, accountNumber: AccountNumber })).max(MAX_SAMPLED_ACCOUNTS),
    }),
    /** In the order of the request; null for an account without a sample. */
    answer: z.object({ samples: z.array(AccountMetricsFrame.nullable()) }),
  },
  /**
   * One page of the opened accounts of a server, sorted and filtered by account data and by the
   * values of the last stored minute. Accounts without the value to sort by come last.
   */
  rankAccounts: {
    method: "POST",
    path: `${SERVER}/accounts/ranked`,
    callers: ["console"],
    body: z.object({
      sort: AccountOrder,
      filters: AccountFilterValues,
      /** The last account of the previous page, with its `value` there; null: the first page. */
      after: z.object({ value: z.string().nullable(), accountNumber: AccountNumber }).nullable(),
      limit: Limit,
    }),
    answer: z.object({
      accounts: z.array(
        z.object({
          accountNumber: z.string(),
          /** The value that the account is sorted by, for `after` of the next request. */
          value: z.string().nullable(),
          stored: StoredAccountValues.nullable(),
        }),
      ),
      /** Number of accounts that match. */
      total: z.int().min(0),
    }),
  },
  readStoredValues: {
    method: "POST",
    path: `${SERVER}/accounts/stored-values`,
    callers: ["console"],
    body: z.object({ accountNumbers: z.array(AccountNumber).max(MAX_RANKED_ACCOUNTS) }),
    /** In the order of the request; null for an account without a stored minute. */
    answer: z.object({ values: z.array(StoredAccountValues.nullable()) }),
  },
  /**
   * Sums for each server over its accounts with a stored minute, in units of the server's currency.
   */
  summarizeEquity: {
    method: "POST",
    path: "/internal/servers/equity",
    callers: ["console"],
    body: z.object({ serverIds: z.array(Guid).max(MAX_SUMMARIZED_SERVERS) }),
    /** In the order of the request. */
    answer: z.object({
      servers: z.array(
        z.object({
          /** Number of accounts with a stored minute. */
          accounts: z.int().min(0),
          equity: z.number(),
          dayStartEquity: z.number(),
          /** The newest stored minute; null: none. */
          measuredAt: z.iso.datetime().nullable(),
        }),
      ),
    }),
  },
  /**
   * An upgrade to a WebSocket between a stream process and a process that holds windows. Without an
   * upgrade: 400.
   */
  followWindows: { method: "GET", path: "/internal/windows", callers: ["metrics"], answer: z.never() },
  /**
   * Numbers of one process: its sockets, their subscriptions, and its stalled sockets.
   * `bufferedBytes` counts the unsent bytes of all sockets, and `mostBufferedBytes` those of the
   * socket with the most.
   */
  readLiveLoad: {
    method: "GET",
    path: "/internal/live/load",
    callers: ["operator"],
    answer: z.object({
      sockets: z.number(),
      subscriptions: z.number(),
      stalled: z.number(),
      bufferedBytes: z.number(),
      mostBufferedBytes: z.number(),
    }),
  },
} as const satisfies InternalRoutes;
