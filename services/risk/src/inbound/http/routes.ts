/** Internal reads of risk rules and breaches. */
import { RISK_ROUTES } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import type { ReadBreaches, ReadRules } from "../../domain/ports.ts";
import { listRiskBreaches } from "../../operations/list-risk-breaches.ts";

export function registerRiskRoutes(
  app: FastifyInstance,
  { readRules, readBreaches }: { readonly readRules: ReadRules; readonly readBreaches: ReadBreaches },
): void {
  serve(app, RISK_ROUTES.getRiskRules, async ({ params }) => ({ riskRules: await readRules(params) }));
  serve(app, RISK_ROUTES.listRiskBreaches, ({ params, query }) => listRiskBreaches(readBreaches, params, query));
}
