/** The internal routes of the risk service. */
import { EvidenceKeys } from "../http/evidence.ts";
import { RiskTemplateAnswer, RiskTemplatesAnswer } from "../http/risk-templates.ts";
import { ListRiskBreachesQuery, RiskBreachesAnswer, RiskRulesAnswer } from "../http/risk.ts";
import type { InternalRoutes } from "./route.ts";

const SERVER = "/internal/servers/:serverId";
const ACCOUNT = `${SERVER}/accounts/:accountNumber`;

/** The gateway checks that the account exists. */
export const RISK_ROUTES = {
  getRiskRules: { method: "GET", path: `${ACCOUNT}/risk-rules`, callers: ["gateway"], answer: RiskRulesAnswer },
  listRiskBreaches: {
    method: "GET",
    path: `${ACCOUNT}/breaches`,
    callers: ["gateway"],
    query: ListRiskBreachesQuery,
    answer: RiskBreachesAnswer,
  },
  listRiskTemplates: {
    method: "GET",
    path: `${SERVER}/risk-templates`,
    callers: ["gateway"],
    answer: RiskTemplatesAnswer,
  },
  getRiskTemplate: {
    method: "GET",
    path: `${SERVER}/risk-templates/:templateName`,
    callers: ["gateway"],
    answer: RiskTemplateAnswer,
  },
  getEvidenceKeys: { method: "GET", path: "/internal/evidence-keys", callers: ["gateway"], answer: EvidenceKeys },
} as const satisfies InternalRoutes;
