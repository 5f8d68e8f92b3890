/** `npm stop`; see `src/stop.ts`. */
import { ensureDependencies, NODE, run, toolEnvironment } from "./bootstrap.mjs";

await ensureDependencies();
process.exit(await run(NODE, ["deploy/local/src/stop.ts"], toolEnvironment()));
