import { METRICS_ROUTES } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import { readLatestSamples } from "../../operations/read-latest-samples.ts";
import type { SampleLog } from "../../operations/sample-log.ts";

/** The route for the newest samples of accounts. */
export function registerLatestSampleRoutes(app: FastifyInstance, log: SampleLog): void {
  serve(app, METRICS_ROUTES.readLatestSamples, ({ body }) => {
    const accounts =
      "accounts" in body
        ? body.accounts
        : body.accountNumbers.map((accountNumber) => ({ serverId: body.serverId, accountNumber }));
    return { samples: readLatestSamples(log, accounts) };
  });
}
