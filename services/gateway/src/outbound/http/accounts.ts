import { Readable } from "node:stream";

import { ACCOUNT_ROUTES, isPaged, pathOf } from "@kapi/contracts";
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
import { bodyOf, foundBodyOf } from "./owner-bytes.ts";

const OK = 200;
const TOO_MANY_REQUESTS = 429;

const { getServerConfiguration, updateServerConfiguration, listTradingAccounts } = ACCOUNT_ROUTES;

export interface AccountsOptions {
  /** For questions on the way to a command. */
  readonly checkTimeoutMs: number;
  /** For the immediate delete, which waits for the account's running command first. */
  readonly deleteTimeoutMs: number;
  /**
   * The organization that a server belongs to: reads of its accounts take from the share of that.
   */
  readonly organizationOf: (serverId: string) => string | undefined;
}

/** The account service over internal HTTP. */
export function createAccounts(client: InternalClient, options: AccountsOptions): Accounts {
  const checking = { timeoutMs: options.checkTimeoutMs };
  const ofServer = (serverId: string): CallOptions => ({ organizationId: options.organizationOf(serverId) });
  return {
    configurationBytes: (serverId) =>
      foundBodyOf(client, getServerConfiguration, { params: { serverId } }, ofServer(serverId)),
    configuration: async (serverId) =>
      (await callRoute(client, getServerConfiguration, { params: { serverId } }, checking)).server,
    changeConfiguration: async (serverId, change, caller) => {
      const asked = { params: { serverId }, body: change };
      const options = { ...ofServer(serverId), headers: callerHeaders(caller) };
      const response = await callRouteRaw(client, updateServerConfiguration, asked, options);
      if (response.status === OK) return { body: response.body };
      const issues = issuesFromResponse(response);
      if (issues !== null) return { issues };
      throw unexpectedStatus(pathOf(updateServerConfiguration, asked), response.status);
    },
    accountBytes: (serverId, accountNumber) =>
      bodyOf(client, ACCOUNT_ROUTES.getTradingAccount, { params: { serverId, accountNumber } }, ofServer(serverId)),
    list: async (serverId, query) => {
      const asked = { params: { serverId }, query };
      const { status, body } = await (isPaged(query)
        ? callRouteRaw(client, listTradingAccounts, asked, ofServer(serverId))
        : streamRoute(client, listTradingAccounts, asked));
      if (status === OK) return body;
      if (body instanceof Readable) body.destroy();
      if (status === TOO_MANY_REQUESTS) throw tooManyConcurrentRequests();
      throw unexpectedStatus(pathOf(listTradingAccounts, asked), status);
    },
    ids: async (accounts) => {
      const asking = { ...checking, repeatable: true };
      const { findExistingAccounts } = ACCOUNT_ROUTES;
      const { existing, ids } = await callRoute(client, findExistingAccounts, { body: { accounts } }, asking);
      return ids ?? existing.map((exists) => (exists ? UNKNOWN_ID : null));
    },
    orders: (serverId, accountNumber, query) => {
      const asked = { params: { serverId, accountNumber }, query };
      return bodyOf(client, ACCOUNT_ROUTES.listTradingAccountOrders, asked, ofServer(serverId));
    },
    positions: (serverId, accountNumber, query) => {
      const asked = { params: { serverId, accountNumber }, query };
      return bodyOf(client, ACCOUNT_ROUTES.listAccountPositions, asked, ofServer(serverId));
    },
    deals: (serverId, accountNumber, query) => {
      const asked = { params: { serverId, accountNumber }, query };
      return bodyOf(client, ACCOUNT_ROUTES.listAccountDeals, asked, ofServer(serverId));
    },
    deleteNow: (serverId, accountNumber, caller) => {
      const asked = { params: { serverId, accountNumber } };
      return bodyOf(client, ACCOUNT_ROUTES.deleteTradingAccountImmediately, asked, {
        ...ofServer(serverId),
        headers: callerHeaders(caller),
        timeoutMs: options.deleteTimeoutMs,
        repeatable: true,
      });
    },
  };
}
