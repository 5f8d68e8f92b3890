import path from "node:path";

import { defineConfig } from "vitest/config";

/**
 * What `npm run scenario -- nodes` runs: whether clusters and their faults are what they say. No
 * part of `npm test`.
 */
export default defineConfig({
  test: {
    root: path.resolve(import.meta.dirname, "../.."),
    include: ["test/clusters/nodes.test.ts"],
    globalSetup: ["libs/testkit/src/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
