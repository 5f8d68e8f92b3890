/**
 * `npm run rebuild-history`: runs the account service's command with the environment of the kapi
 * that runs from this checkout (KAPI_STATE_DIR is the folder of its state). If all variables in
 * {@link GIVEN} are set, as in production, the environment is not changed. The exit code is the
 * command's.
 */
import { spawn } from "node:child_process";
import path from "node:path";

import { LocalError } from "@kapi/servers";
import { keptEnvironment } from "./services/kept-environment.ts";
import { type Environment, serviceFolder } from "./services/plan.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const SERVICE = "account";
/** If all of these are set, the command does not use the kapi of this checkout. */
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
