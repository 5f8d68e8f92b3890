/** The internal routes of the risk service. */
import { EvidenceKeys } from "../http/evidence.ts";
import { ListRiskBreachesQuery, RiskBreachesAnswer, RiskRulesAnswer } from "../http/risk.ts";
import type { InternalRoutes } from "./route.ts";

const ACCOUNT = "/internal/servers/:serverId/accounts/:accountNumber";

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
  getEvidenceKeys: { method: "GET", path: "/internal/evidence-keys", callers: ["gateway"], answer: EvidenceKeys },
} as const satisfies InternalRoutes;
