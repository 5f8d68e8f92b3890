import { Command, CommanderError } from "commander";

import { VERSION } from "../version.ts";
import { addAccounts } from "./commands/accounts.ts";
import { addCheckWebhooks } from "./commands/check-webhooks.ts";
import { addCommands } from "./commands/commands.ts";
import { addCompletion } from "./commands/completion.ts";
import { addCredits } from "./commands/credits.ts";
import { addListen } from "./commands/listen.ts";
import { addLogin } from "./commands/login.ts";
import { addRiskTemplates } from "./commands/risk-templates.ts";
import { addServer } from "./commands/server.ts";
import { addStream } from "./commands/stream.ts";
import { addTrigger } from "./commands/trigger.ts";
import { addEvidence } from "./commands/evidence.ts";
import { addVerifyEvidence } from "./commands/verify-evidence.ts";
import { addWebhooks } from "./commands/webhooks.ts";
import { EXIT_CODES, explain } from "./exit.ts";
import type { Surroundings } from "./surroundings.ts";

export { CommandLineError, EXIT_CODES } from "./exit.ts";
export type { Connection, Surroundings } from "./surroundings.ts";

const FOOTER = `
kapi is reached with the profile that kapi login stored, or with the variables
KAPI_URL, KAPI_LIVE_URL and KAPI_KEY. If --server is not given, KAPI_SERVER
names the server.

Examples:
  kapi login --base-url https://api.example.com
  kapi accounts create --name "Ada Obi" --balance 10000 --leverage 100 --key order-4711
  kapi accounts deposit 10000001 250.55 --key payout-4711
  kapi stream 10000001
  kapi listen --forward-to http://localhost:3000/hook

Each command shows its options with --help. For scripts: kapi help exit-codes`;

const EXIT_CODES_TEXT = `
0  done, or you stopped a command that has no end, such as kapi stream
1  kapi rejected the request, the queued command failed or expired, a check
   found a fault, or the command line failed in another way; standard error
   has the reason
2  unknown command, a missing or invalid argument or setting, or a file that
   cannot be read
3  no result yet: the queued command still runs, you stopped the program
   before its result, kapi cannot be reached, or kapi answered 429 or 5xx;
   repeat the call with the same --key
4  the key is not accepted, lacks a scope, or does not reach the server
`;

/** Adds further commands to the program, such as those of an operator. */
export type Extension = (program: Command) => void;

/** Runs one command and returns its exit code. Results go to `out`, everything else to `err`. */
export async function runCommandLine(
  args: readonly string[],
  surroundings: Surroundings,
  extension?: Extension,
): Promise<number> {
  const program = new Command("kapi")
    .description("kapi from a terminal: accounts, money, commands, live equity, events.")
    .version(VERSION)
    .addHelpText("after", FOOTER)
    .configureOutput({ writeOut: surroundings.out, writeErr: surroundings.err })
    .showHelpAfterError("(--help lists commands and options)")
    .exitOverride();
  addLogin(program, surroundings);
  addAccounts(program, surroundings);
  addCommands(program, surroundings);
  addCredits(program, surroundings);
  addWebhooks(program, surroundings);
  addServer(program, surroundings);
  addRiskTemplates(program, surroundings);
  addStream(program, surroundings);
  addListen(program, surroundings);
  addTrigger(program, surroundings);
  addCheckWebhooks(program, surroundings);
  addEvidence(program, surroundings);
  addVerifyEvidence(program, surroundings);
  extension?.(program);
  program
    .command("exit-codes")
    .description("Show what the exit codes mean")
    .addHelpText("after", EXIT_CODES_TEXT)
    .action(() => surroundings.out(EXIT_CODES_TEXT.trimStart()));
  addCompletion(program, surroundings);
  try {
    await program.parseAsync([...args], { from: "user" });
    return EXIT_CODES.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.usage;
    const { exitCode, text } = explain(error);
    surroundings.err(text);
    return exitCode;
  }
}
