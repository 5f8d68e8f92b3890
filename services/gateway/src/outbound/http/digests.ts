import { ACCOUNT_ROUTES, FINANCE_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { Digests } from "../../domain/ports.ts";

/**
 * Reads the two parts of daily digests over internal HTTP. `organizationOf` returns the
 * organization of a server.
 */
export function createDigests(
  finance: InternalClient,
  account: InternalClient,
  organizationOf: (serverId: string) => string | undefined,
): Digests {
  return {
    transactions: (serverId, query) =>
      callRoute(
        finance,
        FINANCE_ROUTES.listTransactionDigests,
        { params: { serverId }, query },
        {
          organizationId: organizationOf(serverId),
        },
      ),
    deals: (serverId, date, accountNumbers, timeoutMs) =>
      callRoute(
        account,
        ACCOUNT_ROUTES.readDealDigests,
        { params: { serverId }, body: { date, accountNumbers } },
        {
          organizationId: organizationOf(serverId),
          timeoutMs,
        },
      ),
  };
}
