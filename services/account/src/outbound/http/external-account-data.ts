import { FINANCE_ROUTES, METRICS_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { ExternalAccountData } from "../../domain/ports.ts";

/** Deadline of one deletion, in milliseconds: metrics may have a month of snapshots to delete. */
const REMOVAL = { timeoutMs: 4_000, repeatable: true };

/** Removes data of accounts: finance hides their transactions, metrics deletes its data. */
export function createExternalAccountData(finance: InternalClient, metrics: InternalClient): ExternalAccountData {
  return {
    deleteFromFinance: async (serverId, accountNumber) => {
      await callRoute(finance, FINANCE_ROUTES.deleteAccount, { params: { serverId, accountNumber } }, REMOVAL);
    },
    deleteFromMetrics: async (serverId, accountNumber) => {
      await callRoute(metrics, METRICS_ROUTES.deleteAccount, { params: { serverId, accountNumber } }, REMOVAL);
    },
  };
}
