import { paginationOf } from "@kapi/contracts";

import type { CommandListQuery } from "../domain/command-list.ts";
import type { CommandLists } from "../domain/ports.ts";

/**
 * The body of listCommands, as JSON text: a page of a server's commands, newest first, and how many there are (decisions,
 * 3.6). Another organization's server has none.
 */
export async function listCommands(lists: CommandLists, query: CommandListQuery): Promise<string> {
  const { commands, total } = await lists.list(query);
  return `{"commands":[${commands.join(",")}],"pagination":${JSON.stringify(paginationOf(query, total))}}`;
}
