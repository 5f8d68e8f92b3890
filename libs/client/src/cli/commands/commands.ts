import { type Command as CommanderCommand, Option } from "commander";

import { resultOf } from "../../commands/queued-command.ts";
import type { CommandOperation } from "../../commands/results.ts";
import type { Command } from "../../generated/api.ts";
import type { GlobalOptions } from "../connection.ts";
import { addList, type ListOptions, openSession, showList, time, wholeNumber, withGlobalOptions } from "../context.ts";
import type { Column } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

const DEFAULT_WAIT_S = 60;
const STATUSES = ["queued", "leased", "succeeded", "failed", "expired"];

const COMMAND_COLUMNS: readonly Column<Command>[] = [
  { heading: "CREATED", of: ({ createdAt }) => createdAt },
  { heading: "OPERATION", of: ({ operation }) => operation },
  { heading: "STATUS", of: ({ status }) => status },
  { heading: "ACCOUNT", of: ({ accountNumber }) => accountNumber },
  { heading: "ID", of: ({ id }) => id },
  { heading: "ERROR", of: ({ errorCode }) => errorCode },
  { heading: "KEY", of: ({ idempotencyKey }) => idempotencyKey },
];

interface CommandListOptions extends ListOptions {
  readonly status?: Command["status"];
  readonly operation?: CommandOperation;
  readonly account?: string;
  readonly key?: string;
  readonly bulkKey?: string;
  readonly since?: Date;
}

/** Adds `kapi commands …` to the program. */
export function addCommands(program: CommanderCommand, surroundings: Surroundings): void {
  const commands = program.command("commands").description("Queued changes and their final states");
  addList(commands, "list", "List the commands of a server, newest first")
    .addOption(new Option("--status <status>", "only commands in this state").choices(STATUSES))
    .option("--operation <operation>", "only commands of this operation, such as finance.deposit")
    .option("--account <number>", "only commands of this account")
    .option("--key <key>", "only the command with this idempotency key")
    .option("--bulk-key <key>", "only the commands of the bulk with this idempotency key")
    .option("--since <time>", "commands created at or after this time", time)
    .action(async (options: CommandListOptions) => {
      const session = await openSession(surroundings, options);
      const {
        status,
        operation,
        account: accountNumber,
        key: idempotencyKey,
        bulkKey: bulkIdempotencyKey,
        since: from,
      } = options;
      const filter = { status, operation, accountNumber, idempotencyKey, bulkIdempotencyKey, from };
      await showList(session, options, session.server().commands(filter), COMMAND_COLUMNS);
    });
  withGlobalOptions(commands.command("get <command>").description("Show a command as it is now")).action(
    async (id: string, options: GlobalOptions) => {
      const { kapi, output } = await openSession(surroundings, options);
      const command = await kapi.commands.get(id);
      output.print(command, () => output.fields(linesOf(command)));
    },
  );
  withGlobalOptions(commands.command("wait <command>").description("Wait for the final state of a command"))
    .option("--timeout <seconds>", "how long to wait", wholeNumber(0), DEFAULT_WAIT_S)
    .action(async (id: string, options: GlobalOptions & { timeout: number }) => {
      const { kapi, output } = await openSession(surroundings, options);
      const command = await kapi.commands.wait(id, { timeoutMs: options.timeout * 1_000 });
      output.print(command, () => output.fields(linesOf(command)));
      // Throws for a failed or expired command, so that scripts get another exit code.
      resultOf(command);
    });
}

/** The fields of a command, one line each. */
function linesOf(command: Command): Record<string, string | number | null | undefined> {
  const { payload, result, createdBy, ...fields } = command;
  const texts = {
    payload: JSON.stringify(payload),
    result: JSON.stringify(result),
    createdBy: JSON.stringify(createdBy),
  };
  return { ...fields, ...texts };
}
