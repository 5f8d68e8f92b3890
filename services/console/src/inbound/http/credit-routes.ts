import { ListCreditUsageQuery, LowBalanceThresholdBody, UsageByDayQuery } from "@kapi/contracts";
import { parse } from "@kapi/http";

import type { Credits } from "../../domain/ports.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const JSON_TYPE = "application/json; charset=utf-8";

/** The credits and the usage of the organization, from the organization service. */
export function registerCreditRoutes(routes: SignedInRoutes, credits: Credits): void {
  routes.get("/credits", "read", async ({ user }) => ({ balance: await credits.balance(user.organizationId) }));
  routes.put("/credits/threshold", "credits:manage", async ({ user }, request) => {
    const { lowBalanceThreshold } = parse(LowBalanceThresholdBody, request.body);
    return { balance: await credits.changeThreshold(user.organizationId, lowBalanceThreshold) };
  });
  routes.get("/credits/usage", "read", async ({ user }, request, reply) => {
    const query = parse(ListCreditUsageQuery, request.query);
    return reply.type(JSON_TYPE).send(await credits.usage(user.organizationId, query));
  });
  routes.get("/credits/usage-by-day", "read", async ({ user }, request, reply) => {
    const { days } = parse(UsageByDayQuery, request.query);
    return reply.type(JSON_TYPE).send(await credits.usageByDay(user.organizationId, days));
  });
}
