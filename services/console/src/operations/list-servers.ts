import type { ConsoleServer, ServerEntry } from "@kapi/contracts";
import { CURRENCY_SYMBOLS } from "@kapi/contracts";

import type { ServerOverview } from "../domain/console-ports.ts";
import type { ConsoleContext } from "./console-context.ts";

/** Most servers of one answer. */
const MAX_SERVERS = 500;

/** An organization's servers, oldest first, with their configuration and how many accounts they have. */
export async function listServers(
  { store, accounts }: Pick<ConsoleContext, "store" | "accounts">,
  organizationId: string,
): Promise<ConsoleServer[]> {
  const servers = await store.readServers(organizationId, { limit: MAX_SERVERS, offset: 0 });
  const overviews = await accounts.overviews(servers.map((server) => server.serverId));
  return servers.map((server, index) => consoleServerOf(server, overviews[index] ?? null));
}

/**
 * A server as the console shows it. Its status is this service's own: the account service hears of a change a moment later.
 * Of a server that the account service does not know yet, the configuration is the one it was registered with.
 */
export function consoleServerOf(server: ServerEntry, overview: ServerOverview | null): ConsoleServer {
  const { configuration } = server;
  const registered = { ...configuration, currencySymbol: CURRENCY_SYMBOLS[configuration.currency] };
  return {
    serverId: server.serverId,
    status: server.status === "active" ? "active" : "disabled",
    configuration: overview?.configuration ?? registered,
    accountCount: overview?.accountCount ?? 0,
  };
}
