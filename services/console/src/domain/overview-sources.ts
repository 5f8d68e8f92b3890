import type {
  ACCOUNT_ROUTES,
  COMMAND_STATUS_ROUTES,
  METRICS_ROUTES,
  RISK_ROUTES,
  WebhookEndpoint,
} from "@kapi/contracts";
import type { z } from "zod";

import type { AccountRanks, Credits } from "./ports.ts";

type Answer<R extends { readonly answer: z.ZodType }> = z.output<R["answer"]>;

/**
 * What the overview reads from other services. Callers pass only servers of the organization. The
 * answers of `accountCounts`, `serverChecks` and `equity` are in the order of `serverIds`.
 */
export interface OverviewSources {
  readonly credits: Pick<Credits, "balance" | "usageByDay">;
  readonly ranks: Pick<AccountRanks, "rank">;
  accountCounts(serverIds: readonly string[]): Promise<Answer<typeof ACCOUNT_ROUTES.countAccountsByState>["servers"]>;
  serverChecks(serverIds: readonly string[]): Promise<Answer<typeof ACCOUNT_ROUTES.checkTradingServers>["servers"]>;
  equity(serverIds: readonly string[]): Promise<Answer<typeof METRICS_ROUTES.summarizeEquity>["servers"]>;
  nearLimits(
    query: z.output<typeof RISK_ROUTES.listNearLimits.body>,
  ): Promise<Answer<typeof RISK_ROUTES.listNearLimits>>;
  recentBreaches(
    serverIds: readonly string[],
    from: string,
    limit: number,
    /** The last breach of the previous page. */
    after?: { readonly measuredAt: string; readonly id: string },
  ): Promise<Answer<typeof RISK_ROUTES.listRecentBreaches>>;
  webhookEndpoints(organizationId: string): Promise<readonly WebhookEndpoint[]>;
  waitingCommands(
    organizationId: string,
  ): Promise<Answer<typeof COMMAND_STATUS_ROUTES.countWaitingCommands>["servers"]>;
}
