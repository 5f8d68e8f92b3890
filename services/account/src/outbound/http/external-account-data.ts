import { FINANCE_ROUTES, METRICS_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { ExternalAccountData } from "../../domain/ports.ts";

/** The deadline of each call is long, because metrics deletes up to a month of snapshots. */
const REMOVAL = { timeoutMs: 4_000, repeatable: true };

/** Removes data of an account: finance hides its transactions, metrics deletes its snapshots. */
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
