import { ORGANIZATION_ROUTES } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import type { UsageLines } from "../../domain/credits/ports.ts";
import { changeLowBalanceThreshold } from "../../operations/credits/change-low-balance-threshold.ts";
import { getCreditBalance } from "../../operations/credits/get-credit-balance.ts";
import type { LedgerContext } from "../../operations/credits/ledger-context.ts";
import { listCreditUsage } from "../../operations/credits/list-credit-usage.ts";
import { listUsageByDay } from "../../operations/credits/list-usage-by-day.ts";
import { purchaseCredits } from "../../operations/credits/purchase-credits.ts";

/** Wallets and usage, for the gateway, the operator and the console. */
export function registerCreditRoutes(
  app: FastifyInstance,
  context: LedgerContext & { readonly usageLines: UsageLines },
): void {
  serve(app, ORGANIZATION_ROUTES.getCreditBalance, async ({ params }) => ({
    wallet: await getCreditBalance(context, params.organizationId),
  }));
  serve(app, ORGANIZATION_ROUTES.purchaseCredits, async ({ params: { organizationId }, body }) => {
    const { credits, purchaseId } = body;
    return { purchaseId, isNew: await purchaseCredits(context, { organizationId, credits, purchaseId }) };
  });
  serve(app, ORGANIZATION_ROUTES.changeLowBalanceThreshold, async ({ params, body }) => ({
    wallet: await changeLowBalanceThreshold(context, params.organizationId, body.lowBalanceThreshold),
  }));
  serve(app, ORGANIZATION_ROUTES.listCreditUsage, ({ params, query }) =>
    listCreditUsage(context.usageLines, params.organizationId, query),
  );
  serve(app, ORGANIZATION_ROUTES.listUsageByDay, ({ params, query }) =>
    listUsageByDay(context, params.organizationId, query.days),
  );
}
