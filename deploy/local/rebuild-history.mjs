/**
 * `npm run rebuild-history -- --server <id> [--account <number>]`; see `src/rebuild-history.ts`.
 */
import { ensureDependencies, NODE, run, toolEnvironment } from "./bootstrap.mjs";

await ensureDependencies();
process.exit(await run(NODE, ["deploy/local/src/rebuild-history.ts", ...process.argv.slice(2)], toolEnvironment()));
