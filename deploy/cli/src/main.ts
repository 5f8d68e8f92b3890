import { terminalSurroundings } from "@kapi/client/cli/terminal";

import { runOperatorCommandLine } from "./program.ts";

const surroundings = terminalSurroundings();
process.exitCode = await runOperatorCommandLine(process.argv.slice(2), surroundings);
// A stopped command may still have running work, which would keep this process alive.
if (surroundings.signal.aborted) process.exit();
