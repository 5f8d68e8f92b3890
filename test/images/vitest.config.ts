import path from "node:path";

import { defineConfig } from "vitest/config";

/** What `npm run verify -- images` runs against the containers; no part of `npm test`. */
export default defineConfig({
  test: {
    root: path.resolve(import.meta.dirname, "../.."),
    include: ["test/images/*.test.ts"],
    testTimeout: 120_000,
  },
});
