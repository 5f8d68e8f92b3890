import type { CommandRead, CommandStore } from "../domain/ports.ts";

/**
 * One line per read, in order, each ended by a line feed: the exact body of the API's answer, or
 * nothing where the command is not known here or is another organization's, or `"later"` where it
 * did not fit beside the others. A command of another organization does not exist for the caller
 * (decisions, 1.3).
 */
export async function readCommands(store: CommandStore, reads: readonly CommandRead[]): Promise<string> {
  const found = await store.byIds(reads.map((read) => read.commandId));
  let lines = "";
  for (const [index, read] of reads.entries()) {
    const command = found[index];
    if (command === "later") lines += '"later"\n';
    else lines += command?.organizationId === read.organizationId ? `{"command":${command.json}}\n` : "\n";
  }
  return lines;
}
