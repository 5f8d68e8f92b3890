import { type InternalRoute, pathOf, RISK_ROUTES, type RouteRequest } from "@kapi/contracts";
import { callRoute, callRouteRaw, type CallOptions, errorFromResponse, type InternalClient } from "@kapi/http";

import type { Risk } from "../../domain/ports.ts";

const OK = 200;
const NOT_FOUND = 404;
/** A document has up to 7 MB. */
const EVIDENCE_TIMEOUT_MS = 10_000;

/**
 * The risk service over internal HTTP. Its errors are passed on unchanged, with two exceptions: an
 * unknown template is null, and every error of `find` is a DependencyError.
 */
export function createRisk(client: InternalClient): Risk {
  const bytesOf = async <R extends InternalRoute>(
    route: R,
    request: RouteRequest<R>,
    options?: CallOptions,
  ): Promise<Buffer> => {
    const response = await callRouteRaw(client, route, request, options);
    if (response.status !== OK) throw errorFromResponse(pathOf(route, request), response);
    return response.body;
  };
  return {
    rules: (account) => bytesOf(RISK_ROUTES.getRiskRules, { params: { ...account } }),
    templates: (serverId) => bytesOf(RISK_ROUTES.listRiskTemplates, { params: { serverId } }),
    template: async (serverId, templateName) => {
      const request = { params: { serverId, templateName } };
      const response = await callRouteRaw(client, RISK_ROUTES.getRiskTemplate, request);
      if (response.status === NOT_FOUND) return null;
      if (response.status !== OK) throw errorFromResponse(pathOf(RISK_ROUTES.getRiskTemplate, request), response);
      return response.body;
    },
    templateAccounts: (serverId, templateName, query) =>
      bytesOf(RISK_ROUTES.listTemplateAccounts, { params: { serverId, templateName }, query }),
    breaches: (account, query) => bytesOf(RISK_ROUTES.listRiskBreaches, { params: { ...account }, query }),
    breach: (account, breachId) => bytesOf(RISK_ROUTES.getRiskBreach, { params: { ...account, breachId } }),
    find: async (serverIds, breachId) => {
      const asked = { body: { serverIds, breachId } };
      return (await callRoute(client, RISK_ROUTES.findRiskBreach, asked, { repeatable: true })).breach;
    },
    evidence: (account, breachId) => {
      const params = { ...account, breachId };
      return bytesOf(RISK_ROUTES.getBreachEvidence, { params }, { timeoutMs: EVIDENCE_TIMEOUT_MS });
    },
  };
}
