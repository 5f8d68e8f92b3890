import type { ConsoleServer, UpdateConsoleServerBody } from "@kapi/contracts";
import { ApiError, type Caller } from "@kapi/http";

import { consoleServerOf, type ServerDependencies } from "./list-servers.ts";

/**
 * Changes the configuration at the account service (and the trading server), then the status in the
 * directory (decisions, 4.10). Throws 404 for a server outside the organization, and 400 with
 * issues for a rejected configuration; in that case the status is not changed either. The account
 * and the organization service each keep an entry for the audit log in their outbox.
 */
export async function updateServer(
  { directory, accounts }: ServerDependencies,
  organizationId: string,
  serverId: string,
  change: UpdateConsoleServerBody,
  by: Caller,
): Promise<ConsoleServer> {
  await directory.server(organizationId, serverId);
  const { status, ...configuration } = change;
  if (Object.values(configuration).some((value) => value !== undefined)) {
    const issues = await accounts.changeConfiguration(serverId, configuration, by);
    if (issues !== null) throw new ApiError("VALIDATION_FAILED", { issues });
  }
  if (status !== undefined) await directory.setServerStatus(organizationId, serverId, status, by);
  const [overview = null] = await accounts.overviews([serverId]);
  return consoleServerOf(await directory.server(organizationId, serverId), overview);
}
