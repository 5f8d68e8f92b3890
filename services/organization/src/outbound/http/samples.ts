import { AccountMetricsFrame } from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";
import { z } from "zod";

import type { Samples } from "../../domain/console-ports.ts";

/** Asked every second: what takes longer is given up, and asked again. */
const TIMEOUT_MS = 2_000;

const Answer = z.object({ samples: z.array(AccountMetricsFrame.nullable()) });

/** The newest samples of the metrics service. */
export function samplesOver(client: InternalClient): Samples {
  return {
    latest: async (accounts) => {
      const options = { timeoutMs: TIMEOUT_MS, repeatable: true };
      return (await client.json("POST", "/internal/samples/latest", { accounts }, Answer, options)).samples;
    },
  };
}
