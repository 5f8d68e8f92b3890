/** `npm run kapi -- <command>`; see `src/program.ts`. */
import { ensureDependencies, NODE, run, toolEnvironment } from "../local/bootstrap.mjs";

await ensureDependencies();
process.exit(await run(NODE, ["deploy/cli/src/main.ts", ...process.argv.slice(2)], toolEnvironment()));
