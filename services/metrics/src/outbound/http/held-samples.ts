import { type AccountMetricsFrame, METRICS_ROUTES } from "@kapi/contracts";
import { callRoute, DependencyError, type InternalClient } from "@kapi/http";
import { assertDefined } from "@kapi/kernel";

import type { AccountId } from "../../domain/sample.ts";

/** Asks windows processes, by instance, for the newest samples that they hold. */
export function createHeldSamples(
  clients: readonly InternalClient[],
): (instance: number, accounts: readonly AccountId[]) => Promise<readonly (AccountMetricsFrame | null)[]> {
  return async (instance, accounts) => {
    const client = assertDefined(clients[instance], `the address of windows process ${instance}`);
    const asked = { body: { accounts: accounts.map(({ serverId, accountNumber }) => ({ serverId, accountNumber })) } };
    const { samples } = await callRoute(client, METRICS_ROUTES.readHeldSamples, asked, { repeatable: true });
    if (samples.length !== accounts.length) throw new DependencyError("not one answer per account");
    return samples;
  };
}
