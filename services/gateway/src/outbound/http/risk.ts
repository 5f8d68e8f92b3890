import { type InternalRoute, pathOf, RISK_ROUTES, type RouteRequest } from "@kapi/contracts";
import { callRouteRaw, type CallOptions, errorFromResponse, type InternalClient } from "@kapi/http";

import type { ReadEvidenceKeys, Risk } from "../../domain/ports.ts";
import { optionalBodyOf, requiredBodyOf } from "./upstream-response.ts";

const CLIENT_ERRORS_FROM = 400;
/**
 * Deadline of evidence of an interval. It is longer than that of other reads, because the risk
 * service reads valuations and samples of up to 10 minutes from Kafka.
 */
const INTERVAL_TIMEOUT_MS = 4_000;

/** Reads of the risk service. `organizationOf` returns the organization of a server. */
export function createRisk(client: InternalClient, organizationOf: (serverId: string) => string | undefined): Risk {
  return {
    rules: (serverId, accountNumber) => {
      const request = { params: { serverId, accountNumber } };
      return requiredBodyOf(client, RISK_ROUTES.getRiskRules, request, { organizationId: organizationOf(serverId) });
    },
    breaches: (serverId, accountNumber, query) => {
      const request = { params: { serverId, accountNumber }, query };
      return requiredBodyOf(client, RISK_ROUTES.listRiskBreaches, request, {
        organizationId: organizationOf(serverId),
      });
    },
    breachEvidence: (serverId, accountNumber, breachId) => {
      const request = { params: { serverId, accountNumber, breachId } };
      return evidenceOf(client, RISK_ROUTES.getBreachEvidence, request, { organizationId: organizationOf(serverId) });
    },
    intervalEvidence: (serverId, accountNumber, query) => {
      const request = { params: { serverId, accountNumber }, query };
      const options = { organizationId: organizationOf(serverId), timeoutMs: INTERVAL_TIMEOUT_MS };
      return evidenceOf(client, RISK_ROUTES.getIntervalEvidence, request, options);
    },
    templates: (serverId) => {
      const request = { params: { serverId } };
      return requiredBodyOf(client, RISK_ROUTES.listRiskTemplates, request, {
        organizationId: organizationOf(serverId),
      });
    },
    template: (serverId, templateName) => {
      const request = { params: { serverId, templateName } };
      return optionalBodyOf(client, RISK_ROUTES.getRiskTemplate, request, { organizationId: organizationOf(serverId) });
    },
  };
}

/** The exact document of evidence. The risk service's 4xx errors are passed on to the caller. */
async function evidenceOf<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteRequest<R>,
  options: CallOptions,
): Promise<Buffer> {
  const response = await callRouteRaw(client, route, request, options);
  if (response.status < CLIENT_ERRORS_FROM) return response.body;
  throw errorFromResponse(pathOf(route, request), response);
}

/** The public keys of evidence, of the risk service. */
export function readEvidenceKeys(client: InternalClient): ReadEvidenceKeys {
  return () => requiredBodyOf(client, RISK_ROUTES.getEvidenceKeys, {});
}
