import type { Server } from "@kapi/contracts";

import type { AccountReader } from "../domain/ports.ts";
import { toServer } from "./render.ts";

/** The configuration of a server; null if the server is not known yet or does not exist. */
export async function getServerConfiguration(reader: AccountReader, serverId: string): Promise<Server | null> {
  const server = await reader.server(serverId);
  return server === null ? null : toServer(server);
}
