import { type AccountMetricsFrame, METRICS_ROUTES, type AccountRef } from "@kapi/contracts";
import { callRoute, DependencyError, type InternalClient } from "@kapi/http";
import { assertDefined } from "@kapi/kernel";

type Samples = readonly (AccountMetricsFrame | null)[];

/**
 * Returns a function that asks a metrics process for the newest sample of each account, in order.
 * The process must be able to answer for every account.
 */
export function createAllSamples(client: InternalClient): (accounts: readonly AccountRef[]) => Promise<Samples> {
  return (accounts) => ask(client, METRICS_ROUTES.readLatestSamples, accounts);
}

/**
 * Returns a function that asks one windows process for the newest samples that it holds. `clients`
 * has a client of each windows process, in order of their instances.
 */
export function createHeldSamples(
  clients: readonly InternalClient[],
): (instance: number, accounts: readonly AccountRef[]) => Promise<Samples> {
  return (instance, accounts) => {
    const client = assertDefined(clients[instance], `the address of windows process ${instance}`);
    return ask(client, METRICS_ROUTES.readHeldSamples, accounts);
  };
}

async function ask(
  client: InternalClient,
  route: typeof METRICS_ROUTES.readLatestSamples | typeof METRICS_ROUTES.readHeldSamples,
  accounts: readonly AccountRef[],
): Promise<Samples> {
  const body = { accounts: accounts.map(({ serverId, accountNumber }) => ({ serverId, accountNumber })) };
  const { samples } = await callRoute(client, route, { body }, { repeatable: true });
  if (samples.length !== accounts.length)
    throw new DependencyError("a metrics process did not return one result per account");
  return samples;
}
