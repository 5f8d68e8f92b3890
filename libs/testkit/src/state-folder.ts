import { existsSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";

import { isRunning, stopRecorded } from "@kapi/local";

/** Under the state folder of the checkout: each run of tests, and in it each test environment, has a folder of its own. */
export const TEST_STATE_ROOT = path.resolve(import.meta.dirname, "../../../.local/tests");

/** Names the folder of this run, from the global set-up to the test files. */
export const STATE_VARIABLE = "KAPI_TEST_STATE";

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
