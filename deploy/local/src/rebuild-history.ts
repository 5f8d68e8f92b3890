/**
 * `npm run rebuild-history`: the account service's own command, with the environment of the kapi
 * that runs from this checkout (KAPI_STATE_DIR says where its state is). Where the environment
 * names the servers and the keys of trading servers' tokens, as in production, it is left as it is.
 * Exits as the command does.
 */
import { spawn } from "node:child_process";
import path from "node:path";

import { LocalError } from "@kapi/servers";
import { keptEnvironment } from "./services/kept-environment.ts";
import { type Environment, serviceFolder } from "./services/plan.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const SERVICE = "account";
/** With all of these the command needs nothing from here. */
const GIVEN = ["KAFKA_BROKERS", "POSTGRES_URL", "TRADING_SERVER_SEALING_KEYS"];

function environment(): Environment {
  const missing = GIVEN.filter((variable) => (process.env[variable] ?? "") === "");
  if (missing.length === 0) return process.env;
  try {
    return keptEnvironment(path.resolve(ROOT, process.env["KAPI_STATE_DIR"] ?? ".local"), SERVICE, process.env);
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    throw new LocalError(`${error.message} Start it with npm start, or set ${GIVEN.join(", ")}.`);
  }
}

function run(env: Environment): Promise<number> {
  const program = path.join(serviceFolder(SERVICE), "src", "rebuild-history.ts");
  const child = spawn(process.execPath, [program, ...process.argv.slice(2)], { stdio: "inherit", env });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => resolve(code ?? 1));
  });
}

try {
  process.exit(await run(environment()));
} catch (error) {
  console.error(error instanceof LocalError ? error.message : error);
  process.exit(1);
}
