import { ACCOUNT_ROUTES, COMMAND_STATUS_ROUTES, METRICS_ROUTES, RISK_ROUTES, WEBHOOKS_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { OverviewSources } from "../../domain/overview-sources.ts";

/** Maximum duration of a call; the overview waits for less. */
const OPTIONS = { repeatable: true, timeoutMs: 3_000 };

/** The services that the overview reads. */
export function createOverviewSources(
  clients: Readonly<Record<"account" | "commandStatus" | "metrics" | "risk" | "webhooks", InternalClient>>,
  own: Pick<OverviewSources, "credits" | "ranks">,
): OverviewSources {
  const { account, commandStatus, metrics, risk, webhooks } = clients;
  return {
    ...own,
    accountCounts: async (serverIds) => {
      const body = { serverIds: [...serverIds] };
      return (await callRoute(account, ACCOUNT_ROUTES.countAccountsByState, { body }, OPTIONS)).servers;
    },
    serverChecks: async (serverIds) => {
      const body = { serverIds: [...serverIds] };
      return (await callRoute(account, ACCOUNT_ROUTES.checkTradingServers, { body }, OPTIONS)).servers;
    },
    equity: async (serverIds) => {
      const body = { serverIds: [...serverIds] };
      return (await callRoute(metrics, METRICS_ROUTES.summarizeEquity, { body }, OPTIONS)).servers;
    },
    nearLimits: (body) => callRoute(risk, RISK_ROUTES.listNearLimits, { body }, OPTIONS),
    recentBreaches: (serverIds, from, limit) => {
      const body = { serverIds: [...serverIds], from, limit };
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
