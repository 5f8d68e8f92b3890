/**
 * Several services in one process, for a small installation. SERVICES names the services. Each
 * service has the same code, topics, tables and HTTP port as in a separate process.
 */
import { ConfigError, loadConfig, runTogether, type ServiceProgram } from "@kapi/runtime";

import { CombinedSchema, SERVICES } from "./config.ts";

const NAME = "kapi";

/** Loads the programs that SERVICES names. If SERVICES is invalid, prints why and returns null. */
async function chosenPrograms(): Promise<ServiceProgram[] | null> {
  try {
    const { SERVICES: names } = loadConfig(CombinedSchema, process.env);
    return Promise.all(names.map(async (name) => (await SERVICES[name]()).program));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${NAME} cannot start: ${error.problems.join("; ")}\n`);
    return null;
  }
}

const programs = await chosenPrograms();
if (programs === null) process.exitCode = 1;
else await runTogether(NAME, programs);
