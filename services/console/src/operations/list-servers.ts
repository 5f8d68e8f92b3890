import type { ConsoleServer, ConsoleServersAnswer, ShownServer } from "@kapi/contracts";
import { CURRENCY_SYMBOLS } from "@kapi/contracts";

import type { Accounts, Directory, ServerOverview } from "../domain/ports.ts";

/** Sources of server data: the directory with owner and status, and the account service. */
export interface ServerDependencies {
  readonly directory: Directory;
  readonly accounts: Accounts;
}

/** The first servers of an organization, with configuration and number of accounts. */
export async function listServers(
  { directory, accounts }: ServerDependencies,
  organizationId: string,
): Promise<ConsoleServersAnswer> {
  const { servers, total } = await directory.servers(organizationId);
  const overviews = await accounts.overviews(servers.map((server) => server.serverId));
  return {
    servers: servers.map((server, index) => consoleServerOf(server, overviews[index] ?? null)),
    serversLeftOut: Math.max(total - servers.length, 0),
  };
}

/**
 * A server as the console shows it. The status is from the directory, because the account service
 * gets a new status later. If the account service does not know the server yet, the configuration
 * is the registered one, and the number of accounts is 0.
 */
export function consoleServerOf(server: ShownServer, overview: ServerOverview | null): ConsoleServer {
  const { configuration } = server;
  const registered = { ...configuration, currencySymbol: CURRENCY_SYMBOLS[configuration.currency] };
  return {
    serverId: server.serverId,
    status: server.status === "active" ? "active" : "disabled",
    configuration: overview?.configuration ?? registered,
    accountCount: overview?.accountCount ?? 0,
  };
}
