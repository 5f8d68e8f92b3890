import { CommandLineError, type Connection, EXIT_CODES } from "@kapi/client/cli";
import path from "node:path";

import type * as Local from "@kapi/local";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const STATE_FOLDER = ".local";

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Calls `read` for the kapi that runs from this checkout, with its state in KAPI_STATE_DIR. The
 * package `@kapi/local` is imported on demand, because images do not contain it. `wanted` is the
 * last part of the error texts: what else the user can do, such as `set OPERATOR_TOKEN`.
 * @throws CommandLineError if no such kapi runs.
 */
export async function fromRunningKapi<T>(
  environment: Environment,
  wanted: string,
  read: (local: typeof Local, stateFolder: string) => T,
): Promise<T> {
  const local = await load();
  if (local === null) throw new CommandLineError(`There is no checkout here: ${wanted}.`, EXIT_CODES.notFinal);
  try {
    return read(local, path.resolve(ROOT, environment["KAPI_STATE_DIR"] ?? STATE_FOLDER));
  } catch (error) {
    if (!(error instanceof local.LocalError)) throw error;
    throw new CommandLineError(`${error.message} Start it with npm start, or ${wanted}.`, EXIT_CODES.notFinal);
  }
}

/**
 * The demo organization of the kapi that runs from this checkout. Null if none runs, or if the
 * command line runs in an image, which has no checkout.
 */
export async function demoConnection(environment: Environment): Promise<Connection | null> {
  try {
    return await fromRunningKapi(environment, "set KAPI_URL and KAPI_KEY", ({ runningDemo }, folder) => {
      const { baseUrl, wsBase, managementKey, serverId, tradingServerUrl } = runningDemo(folder);
      return { baseUrl, liveUrl: wsBase, key: managementKey, serverId, controlUrl: tradingServerUrl };
    });
  } catch (error) {
    if (error instanceof CommandLineError) return null;
    throw error;
  }
}

async function load(): Promise<typeof Local | null> {
  try {
    return await import("@kapi/local");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND") return null;
    throw error;
  }
}
