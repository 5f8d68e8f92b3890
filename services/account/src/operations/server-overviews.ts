import type { Server } from "@kapi/contracts";

import type { AccountReader } from "../domain/ports.ts";
import { toServer } from "./render.ts";

/** A server's configuration and its number of accounts, without deleted ones. */
export interface ServerOverview {
  readonly server: Server;
  readonly accountCount: number;
}

/** Overviews of servers, in order; null for an unknown server. */
export function serverOverviews(
  reader: AccountReader,
  serverIds: readonly string[],
): Promise<(ServerOverview | null)[]> {
  return Promise.all(serverIds.map((serverId) => overviewOf(reader, serverId)));
}

async function overviewOf(reader: AccountReader, serverId: string): Promise<ServerOverview | null> {
  const server = await reader.server(serverId);
  if (server === null) return null;
  const { pagination } = await reader.page(serverId, { page: 1, limit: 1 });
  return { server: toServer(server), accountCount: pagination.total };
}
