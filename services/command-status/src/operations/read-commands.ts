import type { CommandRead, CommandRepository } from "../domain/ports.ts";

/**
 * Returns one line per read, in order, each ended by a line feed: the exact body of getCommand, or
 * `"later"` for a command whose large result is over the limit of `byIds`. The line of an unknown
 * command is empty. So is the line of another organization's command (decisions, 1.3), unless the
 * line is `"later"`: `byIds` does not know the organization of a read.
 */
export async function readCommands(repository: CommandRepository, reads: readonly CommandRead[]): Promise<string> {
  const found = await repository.byIds(reads.map((read) => read.commandId));
  let lines = "";
  for (const [index, read] of reads.entries()) {
    const command = found[index];
    if (command === "later") lines += '"later"\n';
    else lines += command?.organizationId === read.organizationId ? `{"command":${command.json}}\n` : "\n";
  }
  return lines;
}
