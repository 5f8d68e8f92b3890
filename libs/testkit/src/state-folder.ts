import { existsSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";

import { randomBase32 } from "@kapi/kernel";
import { isRunning, serverContext, type ServerContext, silentReport, StateRecord, stopRecorded } from "@kapi/servers";
import { Scope } from "@kapi/runtime";

const NAME_CHARACTERS = 10;

/**
 * Under the state folder of the checkout: each run of tests, and in it each test environment, has a
 * folder of its own.
 */
export const TEST_STATE_ROOT = path.resolve(import.meta.dirname, "../../../.local/tests");

/** Names the folder of this run, from the global set-up to the test files. */
export const STATE_VARIABLE = "KAPI_TEST_STATE";

/** A name unlike any other; lower-case letters and digits. */
export function testName(): string {
  return `test${randomBase32(NAME_CHARACTERS)}`;
}

/** A folder of its own in that of this run; not made yet. */
export function testFolder(name: string = testName()): string {
  return path.join(process.env[STATE_VARIABLE] ?? path.join(TEST_STATE_ROOT, "alone"), name);
}

/** What servers of a test's own are started with. */
export interface OwnServers {
  /** Takes each of them; its end ends them all and removes the folder. */
  readonly scope: Scope;
  readonly context: ServerContext;
}

/**
 * Starts servers of a test's own, whose state is in this folder. Where one of them does not start,
 * nothing is left.
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

/** Removes a folder that nothing runs in any more. */
async function forget(record: StateRecord, stateDir: string): Promise<void> {
  await record.close();
  rmSync(stateDir, { recursive: true, force: true });
}

/** Ends what killed runs of tests have left, and forgets them. */
export async function sweepDeadRuns(): Promise<void> {
  for (const run of foldersIn(TEST_STATE_ROOT)) {
    if (!isRunning(run)) await removeRun(run);
  }
}

/** Ends what a run's environments have left, then the run itself, and removes its folder. */
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
