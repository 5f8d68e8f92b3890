import { METRICS_ROUTES } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import type { LiveLoad } from "../ws/live-measures.ts";

const NO_LOAD: LiveLoad = { sockets: 0, subscriptions: 0, stalled: 0, bufferedBytes: 0, mostBufferedBytes: 0 };

/**
 * Registers the route for the load of live sockets. `load` returns null if this process serves no
 * sockets; then all values are 0.
 */
export function registerLiveLoadRoutes(app: FastifyInstance, load: () => LiveLoad | null): void {
  serve(app, METRICS_ROUTES.readLiveLoad, () => load() ?? NO_LOAD);
}
