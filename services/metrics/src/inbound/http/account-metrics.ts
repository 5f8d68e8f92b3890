import { METRICS_ROUTES } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import type { AccountId } from "../../domain/sample.ts";
import { listAccountMetrics } from "../../operations/list-account-metrics.ts";

/** The stored snapshots of a server, and the deletion of all that is known of an account. */
export function installAccountMetrics(
  app: FastifyInstance,
  needs: Parameters<typeof listAccountMetrics>[0] & { readonly forget: (account: AccountId) => Promise<void> },
): void {
  serve(app, METRICS_ROUTES.listAccountMetrics, ({ params, query }) =>
    listAccountMetrics(needs, { ...query, ...params }),
  );
  serve(app, METRICS_ROUTES.deleteAccount, async ({ params }) => {
    await needs.forget(params);
    return {};
  });
}
