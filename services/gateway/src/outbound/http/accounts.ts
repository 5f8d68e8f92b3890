import { Readable } from "node:stream";

import { ACCOUNT_ROUTES, DEFAULT_PAGE_LIMIT, isPaged, pathOf } from "@kapi/contracts";
import {
  callerHeaders,
  callRoute,
  callRouteRaw,
  type CallOptions,
  type InternalClient,
  issuesFromResponse,
  streamRoute,
  tooManyConcurrentRequests,
  unexpectedStatus,
} from "@kapi/http";

import { type Accounts, UNKNOWN_ID } from "../../domain/ports.ts";
import { accountBodyOf, checkedPage, optionalBodyOf, requiredBodyOf } from "./upstream-response.ts";

const OK = 200;
const TOO_MANY_REQUESTS = 429;

const { getServerConfiguration, updateServerConfiguration, listTradingAccounts } = ACCOUNT_ROUTES;

interface AccountsOptions {
  /**
   * For checks of accounts and of a server's configuration, before a read, a command or the
   * immediate delete.
   */
  readonly checkTimeoutMs: number;
  /** For the immediate delete, which first waits for the account's running command. */
  readonly deleteTimeoutMs: number;
  /**
   * The organization of a server. Reads and changes of the server and its accounts use the share of
   * this organization; checks and streams do not.
   */
  readonly organizationOf: (serverId: string) => string | undefined;
}

/** The account service over internal HTTP. */
export function createAccounts(client: InternalClient, options: AccountsOptions): Accounts {
  const checking = { timeoutMs: options.checkTimeoutMs };
  const ofServer = (serverId: string): CallOptions => ({ organizationId: options.organizationOf(serverId) });
  return {
    configurationResponse: (serverId) =>
      requiredBodyOf(client, getServerConfiguration, { params: { serverId } }, ofServer(serverId)),
    configuration: async (serverId) =>
      (await callRoute(client, getServerConfiguration, { params: { serverId } }, checking)).server,
    changeConfiguration: async (serverId, change, caller) => {
      const request = { params: { serverId }, body: change };
      const options = { ...ofServer(serverId), headers: callerHeaders(caller) };
      const response = await callRouteRaw(client, updateServerConfiguration, request, options);
      if (response.status === OK) return { body: response.body };
      const issues = issuesFromResponse(response);
      if (issues !== null) return { issues };
      throw unexpectedStatus(pathOf(updateServerConfiguration, request), response.status);
    },
    accountResponse: (serverId, accountNumber) =>
      optionalBodyOf(
        client,
        ACCOUNT_ROUTES.getTradingAccount,
        { params: { serverId, accountNumber } },
        ofServer(serverId),
      ),
    list: async (serverId, query) => {
      // Release 0.1.0 would stream all accounts to a request with only a cursor.
      const limit = query.limit ?? (query.cursor === undefined ? undefined : DEFAULT_PAGE_LIMIT);
      const request = { params: { serverId }, query: { ...query, limit } };
      const { status, body } = await (isPaged(query)
        ? callRouteRaw(client, listTradingAccounts, request, ofServer(serverId))
        : streamRoute(client, listTradingAccounts, request));
      if (status === OK)
        return body instanceof Readable ? body : checkedPage(listTradingAccounts, query, ["status", "search"], body);
      if (body instanceof Readable) body.destroy();
      if (status === TOO_MANY_REQUESTS) throw tooManyConcurrentRequests();
      throw unexpectedStatus(pathOf(listTradingAccounts, request), status);
    },
    ids: async (accounts) => {
      const asking = { ...checking, repeatable: true };
      const { findExistingAccounts } = ACCOUNT_ROUTES;
      const { existing, ids } = await callRoute(client, findExistingAccounts, { body: { accounts } }, asking);
      return ids ?? existing.map((exists) => (exists ? UNKNOWN_ID : null));
    },
    countSelected: async (serverId, selection) => {
      const request = { params: { serverId }, body: { selection } };
      const asking = { ...checking, repeatable: true };
      return (await callRoute(client, ACCOUNT_ROUTES.countSelectedAccounts, request, asking)).accounts;
    },
    orders: async (serverId, accountNumber, query) => {
      const route = ACCOUNT_ROUTES.listTradingAccountOrders;
      const request = { params: { serverId, accountNumber }, query };
      return checkedPage(route, query, [], await optionalBodyOf(client, route, request, ofServer(serverId)));
    },
    positions: async (serverId, accountNumber, query) => {
      const route = ACCOUNT_ROUTES.listAccountPositions;
      const request = { params: { serverId, accountNumber }, query };
      return checkedPage(route, query, ["status"], await optionalBodyOf(client, route, request, ofServer(serverId)));
    },
    deals: async (serverId, accountNumber, query) => {
      const route = ACCOUNT_ROUTES.listAccountDeals;
      const request = { params: { serverId, accountNumber }, query };
      return checkedPage(route, query, [], await optionalBodyOf(client, route, request, ofServer(serverId)));
    },
    openPositions: (serverId, accountNumber, at) => {
      const request = { params: { serverId, accountNumber }, query: { at } };
      return accountBodyOf(client, ACCOUNT_ROUTES.readOpenPositions, request, ofServer(serverId));
    },
    deleteNow: (serverId, accountNumber, caller) => {
      const request = { params: { serverId, accountNumber } };
      return optionalBodyOf(client, ACCOUNT_ROUTES.deleteTradingAccountImmediately, request, {
        ...ofServer(serverId),
        headers: callerHeaders(caller),
        timeoutMs: options.deleteTimeoutMs,
        repeatable: true,
      });
    },
  };
}
