import { AccountMetricsFrame } from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";
import { assert } from "@kapi/kernel";
import { z } from "zod";

import type { Samples } from "../../domain/ports.ts";

/** Most accounts in one request to the metrics service. */
const MAX_ACCOUNTS = 1_000;

const Answer = z.object({ samples: z.array(AccountMetricsFrame.nullable()) });

/** Asks the metrics service for the last samples of accounts. */
export function createSamples(metrics: InternalClient): Samples {
  return {
    async latest(serverId, accountNumbers) {
      assert(accountNumbers.length <= MAX_ACCOUNTS, `at most ${MAX_ACCOUNTS} accounts at once`);
      const body = { serverId, accountNumbers };
      const { samples } = await metrics.json("POST", "/internal/samples/latest", body, Answer, { repeatable: true });
      assert(samples.length === accountNumbers.length, "the metrics service answers one sample per account");
      return samples;
    },
  };
}
