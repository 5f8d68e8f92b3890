import {
  ACCOUNT_ROUTES,
  type InternalRoute,
  MAX_SERVER_OVERVIEWS,
  pathOf,
  type RouteRequest,
  type Server,
  TradingAccountsAnswer,
} from "@kapi/contracts";
import {
  callerHeaders,
  type CallOptions,
  callRoute,
  callRouteRaw,
  DependencyError,
  type InternalClient,
  issuesFromResponse,
  tooManyConcurrentRequests,
  unexpectedStatus,
} from "@kapi/http";

import type { Accounts, ServerOverview } from "../../domain/ports.ts";

/** The account service answers only after the trading server has made the change too. */
const CHANGE_TIMEOUT_MS = 10_000;
/** In the account service, a request for more than 100 accounts waits up to 3 s for its turn. */
const RECORDS_TIMEOUT_MS = 8_000;
/** A read: safe to repeat. */
const REPEATABLE = { repeatable: true };
const OK = 200;
const NOT_FOUND = 404;
const TOO_MANY_REQUESTS = 429;

const { updateServerConfiguration } = ACCOUNT_ROUTES;
/** The answer to a request for one page. */
const ConsolePage = TradingAccountsAnswer.required({ pagination: true });

/** The account service over internal HTTP. */
export function createAccounts(client: InternalClient): Accounts {
  return {
    overviews: async (serverIds) => {
      const found: (ServerOverview | null)[] = [];
      for (let from = 0; from < serverIds.length; from += MAX_SERVER_OVERVIEWS) {
        const body = { serverIds: serverIds.slice(from, from + MAX_SERVER_OVERVIEWS) };
        const { servers } = await callRoute(client, ACCOUNT_ROUTES.readServerOverviews, { body }, REPEATABLE);
        found.push(...servers.map((one) => (one === null ? null : overviewOf(one.server, one.accountCount))));
      }
      return found;
    },
    changeConfiguration: async (serverId, change, by) => {
      const asked = { params: { serverId }, body: change };
      const options = { timeoutMs: CHANGE_TIMEOUT_MS, headers: callerHeaders(by) };
      const response = await callRouteRaw(client, updateServerConfiguration, asked, options);
      if (response.status === OK) return null;
      const issues = issuesFromResponse(response);
      if (issues !== null) return issues;
      throw unexpectedStatus(pathOf(updateServerConfiguration, asked), response.status);
    },
    list: async (serverId, query) => {
      const asked = { params: { serverId }, query };
      const body = await bytesOf(client, ACCOUNT_ROUTES.listTradingAccounts, asked);
      if (body === null) throw new DependencyError("the account service does not know the server yet");
      return ConsolePage.parse(JSON.parse(body.toString("utf8")));
    },
    records: async (serverId, accountNumbers) => {
      const asked = { params: { serverId }, body: { accountNumbers: [...accountNumbers] } };
      const options = { ...REPEATABLE, timeoutMs: RECORDS_TIMEOUT_MS };
      const body = await bytesOf(client, ACCOUNT_ROUTES.readAccountRecords, asked, options);
      if (body === null) throw new DependencyError("the account service does not know the server yet");
      return ACCOUNT_ROUTES.readAccountRecords.answer.parse(JSON.parse(body.toString("utf8"))).accounts;
    },
    details: (serverId, accountNumber) =>
      bytesOf(client, ACCOUNT_ROUTES.getTradingAccount, { params: { serverId, accountNumber } }),
    existing: async (accounts) =>
      (await callRoute(client, ACCOUNT_ROUTES.findExistingAccounts, { body: { accounts } }, REPEATABLE)).existing,
  };
}

function overviewOf(server: Server, accountCount: number): ServerOverview {
  const { serverId, status: _status, ...configuration } = server;
  return { serverId, configuration, accountCount };
}

/**
 * The exact body; null: 404. Throws ApiError TOO_MANY_CONCURRENT_REQUESTS if the organization uses
 * its whole share.
 */
async function bytesOf<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  asked: RouteRequest<R>,
  options?: CallOptions,
): Promise<Buffer | null> {
  const { status, body } = await callRouteRaw(client, route, asked, options);
  if (status === OK) return body;
  if (status === NOT_FOUND) return null;
  if (status === TOO_MANY_REQUESTS) throw tooManyConcurrentRequests();
  throw unexpectedStatus(pathOf(route, asked), status);
}
