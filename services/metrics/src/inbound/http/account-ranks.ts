import { METRICS_ROUTES } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import type { AccountRanks } from "../../domain/ports.ts";

/**
 * Registers three routes: for a list of accounts that is sorted and filtered by stored values, for
 * the stored values of given accounts, and for the equity of servers.
 */
export function registerAccountRankRoutes(app: FastifyInstance, ranks: AccountRanks): void {
  serve(app, METRICS_ROUTES.rankAccounts, async ({ params: { serverId }, body }) => {
    const [accounts, total] = await Promise.all([
      ranks.rank({ serverId, ...body }),
      ranks.count(serverId, body.filters),
    ]);
    return { accounts, total };
  });
  serve(app, METRICS_ROUTES.readStoredValues, async ({ params: { serverId }, body: { accountNumbers } }) => ({
    values: await ranks.values(serverId, accountNumbers),
  }));
  serve(app, METRICS_ROUTES.summarizeEquity, async ({ body: { serverIds } }) => ({
    servers: await ranks.summaries(serverIds),
  }));
}
