import { METRICS_ROUTES, type AccountRef } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import { listAccountMetrics } from "../../operations/list-account-metrics.ts";
import { readEquityHistory } from "../../operations/read-equity-history.ts";

/** Registers the routes for stored snapshots, and for the deletion of an account's data. */
export function registerAccountMetricsRoutes(
  app: FastifyInstance,
  dependencies: Parameters<typeof listAccountMetrics>[0] &
    Parameters<typeof readEquityHistory>[0] & { readonly forget: (account: AccountRef) => Promise<void> },
): void {
  serve(app, METRICS_ROUTES.listAccountMetrics, ({ params, query }) =>
    listAccountMetrics(dependencies, { ...query, ...params }),
  );
  serve(app, METRICS_ROUTES.readEquityHistory, ({ params, query: { organizationId, ...range } }) =>
    readEquityHistory(dependencies, { ...params, organizationId }, range),
  );
  serve(app, METRICS_ROUTES.deleteAccount, async ({ params }) => {
    await dependencies.forget(params);
    return {};
  });
}
