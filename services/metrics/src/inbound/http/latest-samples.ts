import { METRICS_ROUTES } from "@kapi/contracts";
import { ApiError, type FastifyInstance, serve } from "@kapi/http";

import type { LatestSamples } from "../../operations/read-latest-samples.ts";

/** Registers the route for the newest samples of accounts. */
export function registerLatestSampleRoutes(app: FastifyInstance, latest: LatestSamples): void {
  serve(app, METRICS_ROUTES.readLatestSamples, async ({ body }) => {
    const accounts =
      "accounts" in body
        ? body.accounts
        : body.accountNumbers.map((accountNumber) => ({ serverId: body.serverId, accountNumber }));
    return { samples: [...(await latest(accounts))] };
  });
}

/** Registers the routes of a windows process: the newest samples that it holds, and its windows. */
export function registerWindowRoutes(app: FastifyInstance, held: LatestSamples): void {
  serve(app, METRICS_ROUTES.readHeldSamples, async ({ body }) => ({ samples: [...(await held(body.accounts))] }));
  // Requests to upgrade go to the window server; only other requests arrive here.
  serve(app, METRICS_ROUTES.followWindows, () => {
    throw new ApiError("VALIDATION_FAILED", { text: "Not a WebSocket handshake" });
  });
}
