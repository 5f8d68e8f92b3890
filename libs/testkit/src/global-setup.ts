import path from "node:path";

import { printedReport, serverContext, startServersIn, StateRecord } from "@kapi/servers";

import { removeRun, STATE_VARIABLE, sweepDeadRuns, TEST_STATE_ROOT } from "./state-folder.ts";

/**
 * Starts an empty Kafka, PostgreSQL and Redis for a run of tests. A server whose address is in
 * `KAFKA_BROKERS`, `POSTGRES_URL` or `REDIS_URL` is not started. The test files get the addresses
 * in these variables. The started servers and their data are removed after the run. After a killed
 * run, the next run removes them.
 */
export default async function setup(): Promise<() => Promise<void>> {
  await sweepDeadRuns();
  const stateDir = path.join(TEST_STATE_ROOT, String(process.pid));
  const record = await StateRecord.open(stateDir);
  const context = serverContext({ stateDir, ephemeral: true, report: printedReport() }, record);
  const forget = async (): Promise<void> => {
    await record.close();
    await removeRun(stateDir);
  };
  const servers = await startServersIn(context).catch(async (error: unknown) => {
    await forget();
    throw error;
  });
  process.env["KAFKA_BROKERS"] = servers.kafkaBrokers;
  process.env["POSTGRES_URL"] = servers.postgresUrl;
  process.env["REDIS_URL"] = servers.redisUrl;
  process.env[STATE_VARIABLE] = stateDir;
  return async () => {
    await servers.stop();
    await forget();
  };
}
