import path from "node:path";

import { defineConfig } from "vitest/config";

/** Configuration of `npm run scenario -- nodes`. `npm test` does not run these tests. */
export default defineConfig({
  test: {
    root: path.resolve(import.meta.dirname, "../.."),
    include: ["test/clusters/nodes.test.ts"],
    globalSetup: ["libs/testkit/src/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
