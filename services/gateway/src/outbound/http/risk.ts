import { RISK_ROUTES } from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";

import type { ReadEvidenceKeys, Risk } from "../../domain/ports.ts";
import { optionalBodyOf, requiredBodyOf } from "./upstream-response.ts";

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

/** The public keys of evidence, of the risk service. */
export function readEvidenceKeys(client: InternalClient): ReadEvidenceKeys {
  return () => requiredBodyOf(client, RISK_ROUTES.getEvidenceKeys, {});
}
