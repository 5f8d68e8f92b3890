import type { ServerEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Store } from "../domain/ports.ts";

/**
 * A server of the organization. Throws 404 for one that there is not, that was removed, or that is another organization's:
 * everything the console asks of other services about a server begins here, for they do not ask who asks.
 */
export async function ownServer(store: Store, organizationId: string, serverId: string): Promise<ServerEntry> {
  const server = await store.readServer(organizationId, serverId);
  if (server === null) throw new ApiError("SERVER_NOT_FOUND");
  return server;
}
