import { existsSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";

import { randomBase32 } from "@kapi/kernel";
import { isRunning, type StateRecord, stopRecorded } from "@kapi/local";

const NAME_CHARACTERS = 10;

/** Under the state folder of the checkout: each run of tests, and in it each test environment, has a folder of its own. */
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

/** Removes a folder that nothing runs in any more. */
export async function forget(record: StateRecord, stateDir: string): Promise<void> {
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
