/** Reads that are one call of one owner: finance, metrics, organization. */
import { FINANCE_ROUTES, METRICS_ROUTES, ORGANIZATION_ROUTES } from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";

import type { ReadCreditUsage, ReadSnapshots, ReadTransactions } from "../../domain/ports.ts";
import { bodyOf, foundBodyOf } from "./owner-bytes.ts";

/**
 * Transactions, of the finance service. `organizationOf` gives the organization that a server
 * belongs to.
 */
export function readTransactions(
  client: InternalClient,
  organizationOf: (serverId: string) => string | undefined,
): ReadTransactions {
  return (serverId, accountNumber, query) =>
    bodyOf(
      client,
      FINANCE_ROUTES.listTradingAccountTransactions,
      { params: { serverId, accountNumber }, query },
      { organizationId: organizationOf(serverId) },
    );
}

/** Stored metrics, of the metrics service. */
export function readSnapshots(client: InternalClient): ReadSnapshots {
  return (organizationId, serverId, query) => {
    const asked = { params: { serverId }, query: { organizationId, ...query } };
    return foundBodyOf(client, METRICS_ROUTES.listAccountMetrics, asked, { organizationId });
  };
}

/** The usage of credits, of the organization service. */
export function readCreditUsage(client: InternalClient): ReadCreditUsage {
  return (organizationId, query) => {
    const asked = { params: { organizationId }, query };
    return foundBodyOf(client, ORGANIZATION_ROUTES.listCreditUsage, asked, { organizationId });
  };
}
