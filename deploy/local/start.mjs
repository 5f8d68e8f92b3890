/** `npm start`; see `src/main.ts`. */
import { ensureDependencies, NODE, run, toolEnvironment } from "./bootstrap.mjs";

await ensureDependencies();
process.exit(await run(NODE, ["deploy/local/src/main.ts"], toolEnvironment()));
