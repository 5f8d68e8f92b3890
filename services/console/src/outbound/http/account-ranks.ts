import { METRICS_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { AccountRanks } from "../../domain/ports.ts";

/** A sort reads all accounts of a server. 100,000 accounts take far less than this time. */
const TIMEOUT_MS = 8_000;
const OPTIONS = { repeatable: true, timeoutMs: TIMEOUT_MS };

/** The stored values of accounts in the metrics service. */
export function createAccountRanks(client: InternalClient): AccountRanks {
  return {
    rank: (serverId, body) => callRoute(client, METRICS_ROUTES.rankAccounts, { params: { serverId }, body }, OPTIONS),
    values: async (serverId, accountNumbers) => {
      if (accountNumbers.length === 0) return [];
      const asked = { params: { serverId }, body: { accountNumbers: [...accountNumbers] } };
      return (await callRoute(client, METRICS_ROUTES.readStoredValues, asked, OPTIONS)).values;
    },
  };
}
