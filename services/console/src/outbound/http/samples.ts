import { METRICS_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { Samples } from "../../domain/ports.ts";

/** Samples are requested every second, so a slow request is soon replaced by a new one. */
const TIMEOUT_MS = 2_000;

/** The newest samples of the metrics service. */
export function createSamples(client: InternalClient): Samples {
  return {
    latest: async (accounts) => {
      const options = { timeoutMs: TIMEOUT_MS, repeatable: true };
      return (await callRoute(client, METRICS_ROUTES.readLatestSamples, { body: { accounts } }, options)).samples;
    },
  };
}
