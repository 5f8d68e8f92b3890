import { Command, CommanderError } from "commander";

import { addAudit } from "./commands/audit.ts";
import { addCredits } from "./commands/credits.ts";
import { addKey } from "./commands/key.ts";
import { addListen } from "./commands/listen.ts";
import { addOrganization } from "./commands/organization.ts";
import { addServer } from "./commands/server.ts";
import { addUser } from "./commands/user.ts";
import { createContext, type Surroundings } from "./context.ts";
import { CommandFailure, EXIT_CODES } from "./failure.ts";

const FOOTER = `
Commands go to the kapi at ORGANIZATION_URL (user and audit: CONSOLE_URL), with OPERATOR_TOKEN. The value of a variable
that is not set is taken from the kapi that npm start runs here.
Exit codes: 0 done, 1 refused, 2 wrong command or option, 3 cannot be reached now.`;

/** Runs one command and returns its exit code. Writes results to `out` and errors to `err`. */
export async function runCommandLine(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const context = createContext(surroundings);
  const program = new Command("kapi")
    .description(
      "The operator's command line. It manages organizations, their people, servers, keys and credits, shows the audit log, and receives webhooks on your machine.",
    )
    .addHelpText("after", FOOTER)
    .configureOutput({ writeOut: surroundings.out, writeErr: surroundings.err })
    .showHelpAfterError("(--help lists commands and options)")
    .exitOverride();
  addOrganization(program, context);
  addUser(program, context);
  addServer(program, context);
  addKey(program, context);
  addCredits(program, context);
  addAudit(program, context);
  addListen(program, context);
  try {
    await program.parseAsync([...args], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_CODES.usage;
    if (!(error instanceof CommandFailure)) throw error;
    surroundings.err(`${error.message}\n`);
    return error.exitCode;
  }
}
