import { FINANCE_ROUTES, METRICS_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { AccountTraces } from "../../domain/ports.ts";

/** Deadline of one removal, in milliseconds: metrics may have a month of snapshots to delete. */
const REMOVAL = { timeoutMs: 4_000, repeatable: true };

/** Has finance and metrics remove what they know of an account. */
export function createAccountTraces(finance: InternalClient, metrics: InternalClient): AccountTraces {
  return {
    inFinance: async (serverId, accountNumber) => {
      await callRoute(finance, FINANCE_ROUTES.deleteAccount, { params: { serverId, accountNumber } }, REMOVAL);
    },
    inMetrics: async (serverId, accountNumber) => {
      await callRoute(metrics, METRICS_ROUTES.deleteAccount, { params: { serverId, accountNumber } }, REMOVAL);
    },
  };
}
