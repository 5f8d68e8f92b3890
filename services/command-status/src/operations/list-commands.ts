import type { CommandListQuery } from "../domain/command-list.ts";
import type { CommandLists } from "../domain/ports.ts";

/**
 * Maximum total size of the large results in a body that is not streamed, in bytes. A page of 100
 * exports has up to 400 MB.
 */
const MAX_WHOLE_BYTES = 8 * 1024 * 1024;

/**
 * Returns the body of listCommands in pieces of JSON text: a page of a server's commands, newest
 * first, and the pagination (decisions, 3.6). The list of another organization's server is empty.
 */
export async function streamCommands(lists: CommandLists, query: CommandListQuery): Promise<AsyncGenerator<string>> {
  const page = await lists.list(query);
  return piecesOf(page.commands, JSON.stringify(page.pagination));
}

/** Returns the body of listCommands as one text; null if it is too large, and must be streamed. */
export async function listCommands(lists: CommandLists, query: CommandListQuery): Promise<string | null> {
  const page = await lists.list(query);
  if (page.largeBytes > MAX_WHOLE_BYTES) return null;
  let body = "";
  for await (const piece of piecesOf(page.commands, JSON.stringify(page.pagination))) body += piece;
  return body;
}

async function* piecesOf(commands: AsyncIterable<string>, pagination: string): AsyncGenerator<string> {
  let opening = '{"commands":[';
  for await (const command of commands) {
    yield opening + command;
    opening = ",";
  }
  yield `${opening === "," ? "" : opening}],"pagination":${pagination}}`;
}
