import { expect, it } from "vitest";

import { wasNotCarriedOut } from "./node.ts";

it.each([
  ["Stream isn't writeable and enableOfflineQueue options is false", true],
  ["Cluster isn't ready and enableOfflineQueue options is false", true],
  ["MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", true],
  ["OOM allow-oom flag is not set on the function, can not run it when used memory > 'maxmemory'", true],
  ["Connection is closed.", false],
  ["Command timed out", false],
  ["ERR wrong type", false],
])("a call that failed with %s was certainly not carried out: %s", (message, isCertain) => {
  expect(wasNotCarriedOut(new Error(message))).toBe(isCertain);
});
