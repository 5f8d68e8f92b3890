import { type Clusters, type ServerContext, startClusters } from "@kapi/servers";

import { startInFolder, testFolder } from "./state-folder.ts";

/**
 * Starts a cluster of each server, for one test file. `stop` stops the clusters and removes their
 * data.
 */
export function startTestClusters(): Promise<Clusters> {
  return startTestServers(startClusters);
}

/**
 * Starts servers for one test file. `start` is, for example, `startKafkaCluster`. `stop` stops the
 * servers and removes their data.
 */
export async function startTestServers<T extends { stop: () => Promise<void> }>(
  start: (context: ServerContext) => Promise<T>,
): Promise<T> {
  return startInFolder(testFolder(), async ({ scope, context }) => {
    const servers = await scope.start("servers", async () => {
      const value = await start(context);
      return { value, stop: value.stop.bind(value) };
    });
    servers.stop = () => scope.stop();
    return servers;
  });
}
