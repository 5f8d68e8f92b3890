import { LowBalanceThresholdBody, PageQuery, UsageByDayQuery } from "@kapi/contracts";
import { parse } from "@kapi/http";

import { changeLowBalanceThreshold } from "../../../operations/change-low-balance-threshold.ts";
import type { ConsoleContext } from "../../../operations/console-context.ts";
import { getCreditBalance } from "../../../operations/get-credit-balance.ts";
import { listCreditUsage } from "../../../operations/list-credit-usage.ts";
import { listUsageByDay } from "../../../operations/list-usage-by-day.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** The organization's credits and what they were used for. */
export function installCreditRoutes(routes: SignedInRoutes, context: ConsoleContext): void {
  routes.get("/credits", async ({ user }) => ({ balance: await getCreditBalance(context, user.organizationId) }));
  routes.put("/credits/threshold", async ({ user }, request) => {
    const { lowBalanceThreshold } = parse(LowBalanceThresholdBody, request.body);
    return { balance: await changeLowBalanceThreshold(context, user.organizationId, lowBalanceThreshold) };
  });
  routes.get("/credits/usage", ({ user }, request) =>
    listCreditUsage(context.usageLines, user.organizationId, parse(PageQuery, request.query)),
  );
  routes.get("/credits/usage-by-day", ({ user }, request) =>
    listUsageByDay(context, user.organizationId, parse(UsageByDayQuery, request.query).days),
  );
}
