/** Internal reads of risk rules, templates, breaches, and the public keys of evidence. */
import { type EvidenceKeys, RISK_ROUTES } from "@kapi/contracts";
import { ApiError, type FastifyInstance, serve } from "@kapi/http";

import type { ReadBreaches, ReadRules } from "../../domain/ports.ts";
import type { TemplateRepository } from "../../domain/template-ports.ts";
import { listRiskBreaches } from "../../operations/list-risk-breaches.ts";

export function registerRiskRoutes(
  app: FastifyInstance,
  {
    readRules,
    readBreaches,
    templates,
    evidenceKeys,
  }: {
    readonly readRules: ReadRules;
    readonly readBreaches: ReadBreaches;
    readonly templates: Pick<TemplateRepository, "list">;
    readonly evidenceKeys: EvidenceKeys;
  },
): void {
  serve(app, RISK_ROUTES.getRiskRules, async ({ params }) => ({ riskRules: await readRules(params) }));
  serve(app, RISK_ROUTES.listRiskBreaches, ({ params, query }) => listRiskBreaches(readBreaches, params, query));
  serve(app, RISK_ROUTES.listRiskTemplates, async ({ params: { serverId } }) => ({
    riskTemplates: [...(await templates.list(serverId, null))],
  }));
  serve(app, RISK_ROUTES.getRiskTemplate, async ({ params: { serverId, templateName } }) => {
    const [riskTemplate] = await templates.list(serverId, templateName);
    if (riskTemplate === undefined) throw new ApiError("RISK_TEMPLATE_NOT_FOUND");
    return { riskTemplate };
  });
  serve(app, RISK_ROUTES.getEvidenceKeys, () => Promise.resolve(evidenceKeys));
}
