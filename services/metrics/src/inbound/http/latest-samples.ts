import { AccountNumber, Guid } from "@kapi/contracts";
import { type FastifyInstance, parse } from "@kapi/http";
import { z } from "zod";

import { readLatestSamples } from "../../operations/read-latest-samples.ts";
import type { SampleLog } from "../../operations/sample-log.ts";

const MAX_ACCOUNTS = 1_000;

const LatestSamplesRequest = z.object({
  serverId: Guid,
  accountNumbers: z.array(AccountNumber).max(MAX_ACCOUNTS),
});

/** POST /internal/samples/latest {serverId, accountNumbers} → {samples: (sample | null)[]}, in order. */
export function installLatestSamples(app: FastifyInstance, log: SampleLog): void {
  app.post("/internal/samples/latest", (request) => {
    const { serverId, accountNumbers } = parse(LatestSamplesRequest, request.body);
    return { samples: readLatestSamples(log, serverId, accountNumbers) };
  });
}
