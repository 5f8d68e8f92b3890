import { existsSync } from "node:fs";

import { afterEach, expect, it, vi } from "vitest";

import { startInFolder, STATE_VARIABLE, sweepDeadRuns, testFolder } from "./state-folder.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

it("a test run that starts does not remove the folder of a running test that has no global set-up", async () => {
  vi.stubEnv(STATE_VARIABLE, undefined);
  const folder = testFolder();
  const scope = await startInFolder(folder, (own) => Promise.resolve(own.scope));
  await sweepDeadRuns();
  expect(existsSync(folder)).toBe(true);
  await scope.stop();
  expect(existsSync(folder)).toBe(false);
});
