/** Reads that are one call to one owner: finance, metrics, organization. */
import { FINANCE_ROUTES, METRICS_ROUTES, ORGANIZATION_ROUTES } from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";

import type { ReadCreditUsage, ReadSnapshots, ReadTransactions } from "../../domain/ports.ts";
import { knowing, optionalBodyOf, requiredBodyOf } from "./upstream-response.ts";

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
    return knowing(route, query, [], await optionalBodyOf(client, route, request, options));
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
    return knowing(route, query, [], await requiredBodyOf(client, route, request, { organizationId }));
  };
}
