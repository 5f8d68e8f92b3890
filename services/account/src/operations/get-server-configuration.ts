import type { Server } from "@kapi/contracts";

import type { AccountReader } from "../domain/ports.ts";
import { toServer } from "./render.ts";

/** The configuration of a server, or null where this service does not know it (yet). */
export async function getServerConfiguration(reader: AccountReader, serverId: string): Promise<Server | null> {
  const server = await reader.server(serverId);
  return server === null ? null : toServer(server);
}
