/** Reads that are one call to one owner: finance, metrics, organization. */
import { FINANCE_ROUTES, METRICS_ROUTES, ORGANIZATION_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type {
  ReadBalance,
  ReadCreditUsage,
  ReadLastSnapshot,
  ReadSnapshots,
  ReadTransactions,
} from "../../domain/ports.ts";
import { accountBodyOf, checkedPage, optionalBodyOf, requiredBodyOf } from "./upstream-response.ts";

/**
 * Transactions, of the finance service. `organizationOf` returns the organization of a server.
 */
export function readTransactions(
  client: InternalClient,
  organizationOf: (serverId: string) => string | undefined,
): ReadTransactions {
  return async (serverId, accountNumber, query) => {
    const route = FINANCE_ROUTES.listTradingAccountTransactions;
    const request = { params: { serverId, accountNumber }, query };
    const options = { organizationId: organizationOf(serverId) };
    return checkedPage(route, query, [], await optionalBodyOf(client, route, request, options));
  };
}

/**
 * The balance of an account at a time, of the finance service. `organizationOf` returns the
 * organization of a server.
 */
export function readBalance(
  client: InternalClient,
  organizationOf: (serverId: string) => string | undefined,
): ReadBalance {
  return async (serverId, accountNumber, at) => {
    const request = { params: { serverId, accountNumber }, query: { at } };
    const options = { organizationId: organizationOf(serverId) };
    return (await accountBodyOf(client, FINANCE_ROUTES.readBalance, request, options))?.balance ?? null;
  };
}

/** The last stored snapshot of an account before a time, of the metrics service. */
export function readLastSnapshot(client: InternalClient): ReadLastSnapshot {
  return async (organizationId, serverId, accountNumber, before) => {
    const request = { params: { serverId }, query: { organizationId, accountNumber, until: before, limit: "1" } };
    const { snapshots } = await callRoute(client, METRICS_ROUTES.listAccountMetrics, request, { organizationId });
    return snapshots[0] ?? null;
  };
}

/** Stored metrics, of the metrics service. */
export function readSnapshots(client: InternalClient): ReadSnapshots {
  return (organizationId, serverId, query) => {
    const request = { params: { serverId }, query: { organizationId, ...query } };
    return requiredBodyOf(client, METRICS_ROUTES.listAccountMetrics, request, { organizationId });
  };
}

/** Credit usage, of the organization service. */
export function readCreditUsage(client: InternalClient): ReadCreditUsage {
  return async (organizationId, query) => {
    const route = ORGANIZATION_ROUTES.listCreditUsage;
    const request = { params: { organizationId }, query };
    return checkedPage(route, query, [], await requiredBodyOf(client, route, request, { organizationId }));
  };
}
