/** The internal routes of the risk service. */
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
} as const satisfies InternalRoutes;
