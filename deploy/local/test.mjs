/**
 * `npm test`: runs all tests except those of the vitest project `long`. Arguments are passed to
 * vitest (`npm test -- libs/kernel`).
 */
import { ensureDependencies, NODE, run, toolEnvironment } from "./bootstrap.mjs";

await ensureDependencies();
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--project=!long", ...process.argv.slice(2)];
process.exit(await run(NODE, vitest, toolEnvironment()));
