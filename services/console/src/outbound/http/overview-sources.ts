import {
  ACCOUNT_ROUTES,
  COMMAND_STATUS_ROUTES,
  MAX_SERVER_OVERVIEWS,
  MAX_SUMMARIZED_SERVERS,
  METRICS_ROUTES,
  RISK_ROUTES,
  WEBHOOKS_ROUTES,
} from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { OverviewSources } from "../../domain/overview-sources.ts";

/** Maximum duration of a call. The overview waits a shorter time for the answer. */
const OPTIONS = { repeatable: true, timeoutMs: 3_000 };

/** The services that the overview reads. */
export function createOverviewSources(
  clients: Readonly<Record<"account" | "commandStatus" | "metrics" | "risk" | "webhooks", InternalClient>>,
  own: Pick<OverviewSources, "credits" | "ranks">,
): OverviewSources {
  const { account, commandStatus, metrics, risk, webhooks } = clients;
  return {
    ...own,
    accountCounts: (serverIds) =>
      inParts(serverIds, MAX_SERVER_OVERVIEWS, async (body) => {
        return (await callRoute(account, ACCOUNT_ROUTES.countAccountsByState, { body }, OPTIONS)).servers;
      }),
    serverChecks: (serverIds) =>
      inParts(serverIds, MAX_SERVER_OVERVIEWS, async (body) => {
        return (await callRoute(account, ACCOUNT_ROUTES.checkTradingServers, { body }, OPTIONS)).servers;
      }),
    equity: (serverIds) =>
      inParts(serverIds, MAX_SUMMARIZED_SERVERS, async (body) => {
        return (await callRoute(metrics, METRICS_ROUTES.summarizeEquity, { body }, OPTIONS)).servers;
      }),
    nearLimits: (body) => callRoute(risk, RISK_ROUTES.listNearLimits, { body }, OPTIONS),
    recentBreaches: (serverIds, from, limit, after) => {
      const body = { serverIds: [...serverIds], from, limit, after: after ?? null };
      return callRoute(risk, RISK_ROUTES.listRecentBreaches, { body }, OPTIONS);
    },
    webhookEndpoints: async (organizationId) => {
      const asked = { params: { organizationId } };
      return (await callRoute(webhooks, WEBHOOKS_ROUTES.listWebhooks, asked, OPTIONS)).endpoints;
    },
    waitingCommands: async (organizationId) => {
      const asked = { params: { organizationId } };
      return (await callRoute(commandStatus, COMMAND_STATUS_ROUTES.countWaitingCommands, asked, OPTIONS)).servers;
    },
  };
}

/** Sends concurrent requests for at most `size` servers each. Returns the answers in order. */
async function inParts<T>(
  serverIds: readonly string[],
  size: number,
  read: (body: { serverIds: string[] }) => Promise<readonly T[]>,
): Promise<T[]> {
  const parts = Array.from({ length: Math.ceil(serverIds.length / size) }, (_, index) =>
    read({ serverIds: serverIds.slice(index * size, (index + 1) * size) }),
  );
  return (await Promise.all(parts)).flat();
}
