import { AccountNumber, Guid } from "@kapi/contracts";
import { type FastifyInstance, parse } from "@kapi/http";
import { z } from "zod";

import { readLatestSamples } from "../../operations/read-latest-samples.ts";
import type { SampleLog } from "../../operations/sample-log.ts";

const MAX_ACCOUNTS = 1_000;

/** Accounts of one server, or of several. */
const LatestSamplesRequest = z.union([
  z.object({ serverId: Guid, accountNumbers: z.array(AccountNumber).max(MAX_ACCOUNTS) }),
  z.object({ accounts: z.array(z.object({ serverId: Guid, accountNumber: AccountNumber })).max(MAX_ACCOUNTS) }),
]);

/**
 * POST /internal/samples/latest {serverId, accountNumbers} or {accounts: {serverId, accountNumber}[]} →
 * {samples: (sample | null)[]}, in order.
 */
export function installLatestSamples(app: FastifyInstance, log: SampleLog): void {
  app.post("/internal/samples/latest", (request) => {
    const asked = parse(LatestSamplesRequest, request.body);
    const accounts =
      "accounts" in asked
        ? asked.accounts
        : asked.accountNumbers.map((accountNumber) => ({ serverId: asked.serverId, accountNumber }));
    return { samples: readLatestSamples(log, accounts) };
  });
}
