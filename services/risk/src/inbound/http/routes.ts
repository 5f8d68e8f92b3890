/** Internal reads of risk rules, breaches, and the public keys of evidence. */
import { type EvidenceKeys, RISK_ROUTES } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import type { ReadBreaches, ReadRules } from "../../domain/ports.ts";
import { listRiskBreaches } from "../../operations/list-risk-breaches.ts";

export function registerRiskRoutes(
  app: FastifyInstance,
  {
    readRules,
    readBreaches,
    evidenceKeys,
  }: { readonly readRules: ReadRules; readonly readBreaches: ReadBreaches; readonly evidenceKeys: EvidenceKeys },
): void {
  serve(app, RISK_ROUTES.getRiskRules, async ({ params }) => ({ riskRules: await readRules(params) }));
  serve(app, RISK_ROUTES.listRiskBreaches, ({ params, query }) => listRiskBreaches(readBreaches, params, query));
  serve(app, RISK_ROUTES.getEvidenceKeys, () => Promise.resolve(evidenceKeys));
}
