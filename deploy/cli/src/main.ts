import { terminalSurroundings } from "@kapi/client/cli/terminal";

import { runOperatorCommandLine } from "./program.ts";

process.exitCode = await runOperatorCommandLine(process.argv.slice(2), terminalSurroundings());
