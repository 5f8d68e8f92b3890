import { existsSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";

import { randomBase32 } from "@kapi/kernel";
import { isRunning, serverContext, type ServerContext, silentReport, StateRecord, stopRecorded } from "@kapi/servers";
import { Scope } from "@kapi/runtime";

const NAME_CHARACTERS = 10;

/**
 * The folder of all test runs, in the state folder of the checkout. Each run has a folder here, and
 * each test environment has a folder in the folder of its run. Without the global set-up, each test
 * environment has a folder here, like a run.
 */
export const TEST_STATE_ROOT = path.resolve(import.meta.dirname, "../../../.local/tests");

/** The global set-up passes the folder of the run to the test files in this variable. */
export const STATE_VARIABLE = "KAPI_TEST_STATE";

/** A unique name of lower-case letters and digits. */
export function testName(): string {
  return `test${randomBase32(NAME_CHARACTERS)}`;
}

/**
 * The path of the folder `name` in the folder of this run. Without the global set-up, the path is
 * in {@link TEST_STATE_ROOT}. Nothing is created.
 */
export function testFolder(name: string = testName()): string {
  return path.join(process.env[STATE_VARIABLE] ?? TEST_STATE_ROOT, name);
}

/** The dependencies of servers that one test file starts. */
export interface OwnServers {
  /** Owns the servers. Its `stop` stops all servers and removes the folder. */
  readonly scope: Scope;
  readonly context: ServerContext;
}

/**
 * Starts servers for one test file, with their state in `stateDir`. If one server does not start,
 * all servers are stopped and the folder is removed.
 */
export async function startInFolder<T>(stateDir: string, start: (own: OwnServers) => Promise<T>): Promise<T> {
  const scope = new Scope();
  const record = await StateRecord.open(stateDir);
  await scope.start("state", () => ({ value: record, stop: () => forget(record, stateDir) }));
  try {
    return await start({ scope, context: serverContext({ stateDir, ephemeral: true, report: silentReport }, record) });
  } catch (error) {
    await scope.stop();
    throw error;
  }
}

/** Removes a folder whose servers have stopped. */
async function forget(record: StateRecord, stateDir: string): Promise<void> {
  await record.close();
  rmSync(stateDir, { recursive: true, force: true });
}

/** Stops the servers that killed runs left behind, and removes the folders of these runs. */
export async function sweepDeadRuns(): Promise<void> {
  for (const run of foldersIn(TEST_STATE_ROOT)) {
    if (!isRunning(run)) await removeRun(run);
  }
}

/** Stops the servers of a run's environments, then the servers of the run, and removes `folder`. */
export async function removeRun(folder: string): Promise<void> {
  for (const environment of foldersIn(folder)) await stopRecorded(environment);
  await stopRecorded(folder);
  rmSync(folder, { recursive: true, force: true });
}

function foldersIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => path.join(folder, entry.name));
}
