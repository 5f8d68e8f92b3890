import { paginationOf } from "@kapi/contracts";

import type { CommandListQuery } from "../domain/command-list.ts";
import type { CommandLists } from "../domain/ports.ts";

/**
 * Results of a page, in bytes, above which its body is only given as a stream. 100 exports have up
 * to 400 MB.
 */
const MAX_WHOLE_BYTES = 8 * 1024 * 1024;

/**
 * The body of listCommands in pieces of JSON text: a page of a server's commands, newest first, and
 * how many there are (decisions, 3.6). Another organization's server has none.
 */
export async function streamCommands(lists: CommandLists, query: CommandListQuery): Promise<AsyncGenerator<string>> {
  const page = await lists.list(query);
  return piecesOf(page.commands, JSON.stringify(paginationOf(query, page.total)));
}

/** The same as one text; null where it is too large for that. */
export async function listCommands(lists: CommandLists, query: CommandListQuery): Promise<string | null> {
  const page = await lists.list(query);
  if (page.largeBytes > MAX_WHOLE_BYTES) return null;
  let body = "";
  for await (const piece of piecesOf(page.commands, JSON.stringify(paginationOf(query, page.total)))) body += piece;
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
