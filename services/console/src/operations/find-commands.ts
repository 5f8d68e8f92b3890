import { actorToText, CommandsAnswer, type ConsoleCommandsQuery, type FoundCommandsAnswer } from "@kapi/contracts";
import { text } from "node:stream/consumers";

import type { Commands, Directory } from "../domain/ports.ts";

const COMMANDS_PER_READ = 100;
/** Maximum number of reads per page: 2,000 commands are compared. A read takes about 40 ms. */
const MAX_READS = 20;

/**
 * Finds the commands of an organization's server by who requested them, or by their amount, or by
 * both: reads the list and compares its commands one by one. Reading for a page stops after the
 * read with which the page has at least `limit` commands, and after 2,000 compared commands. The
 * next page begins after the last compared command.
 */
export async function findCommands(
  { directory, commands }: { readonly directory: Pick<Directory, "server">; readonly commands: Commands },
  organizationId: string,
  serverId: string,
  { by, amount, page: _first, limit, ...query }: ConsoleCommandsQuery,
): Promise<FoundCommandsAnswer> {
  await directory.server(organizationId, serverId);
  const found: FoundCommandsAnswer["commands"] = [];
  let { cursor } = query;
  for (let reads = 1; ; reads += 1) {
    const asked = { ...query, limit: COMMANDS_PER_READ, cursor };
    const body = await commands.list(organizationId, serverId, asked);
    const read = CommandsAnswer.parse(JSON.parse(Buffer.isBuffer(body) ? body.toString("utf8") : await text(body)));
    for (const command of read.commands) {
      const isBy = by === undefined || actorToText(command.createdBy) === by;
      const hasAmount = amount === undefined || command.payload?.["amount"] === amount;
      if (isBy && hasAmount) found.push(command);
    }
    const { nextCursor } = read.pagination;
    if (nextCursor === null) return { commands: found, nextCursor, searchedTo: null };
    if (found.length >= limit || reads === MAX_READS) {
      return { commands: found, nextCursor, searchedTo: read.commands.at(-1)?.createdAt ?? null };
    }
    cursor = nextCursor;
  }
}
