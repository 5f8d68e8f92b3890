import { MAX_SAMPLED_ACCOUNTS, METRICS_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";
import { assert } from "@kapi/kernel";

import type { Samples } from "../../domain/ports.ts";

/** Reads the last live samples of accounts from the metrics service. */
export function createSamples(metrics: InternalClient): Samples {
  return {
    async latest(serverId, accountNumbers) {
      assert(
        accountNumbers.length <= MAX_SAMPLED_ACCOUNTS,
        `${accountNumbers.length} accounts are more than the maximum of ${MAX_SAMPLED_ACCOUNTS}`,
      );
      const body = { serverId, accountNumbers };
      const { samples } = await callRoute(metrics, METRICS_ROUTES.readLatestSamples, { body }, { repeatable: true });
      assert(samples.length === accountNumbers.length, "the metrics service must return one sample per account");
      return samples;
    },
  };
}
