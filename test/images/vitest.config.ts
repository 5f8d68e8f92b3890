import path from "node:path";

import { defineConfig } from "vitest/config";

/** Configuration of the tests in `npm run verify -- images`. `npm test` does not run them. */
export default defineConfig({
  test: {
    root: path.resolve(import.meta.dirname, "../.."),
    include: ["test/images/*.test.ts"],
    testTimeout: 120_000,
  },
});
