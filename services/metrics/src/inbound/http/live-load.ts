import type { FastifyInstance } from "@kapi/http";

import type { LiveLoad } from "../ws/live-measures.ts";

const NO_LOAD: LiveLoad = { sockets: 0, subscriptions: 0, stalled: 0, bufferedBytes: 0, mostBufferedBytes: 0 };

/** GET /internal/live/load → what this process holds for its sockets; `load` gives null while it serves none. */
export function installLiveLoad(app: FastifyInstance, load: () => LiveLoad | null): void {
  app.get("/internal/live/load", () => load() ?? NO_LOAD);
}
