import type { ConsoleServer, UpdateConsoleServerBody } from "@kapi/contracts";
import { ApiError, type Caller } from "@kapi/http";

import type { ConsoleContext } from "./console-context.ts";
import { consoleServerOf } from "./list-servers.ts";
import { ownServer } from "./own-server.ts";

/**
 * Changes a server: its configuration at the account service (and the trading server), then its status, which the directory
 * tells to everybody (decisions, 4.10). Throws 404 for a server that is not the organization's, and 400 with the issues
 * where the configuration is refused; then the status is not changed either. The account service records the change of
 * the configuration for the audit log.
 */
export async function updateServer(
  context: ConsoleContext,
  organizationId: string,
  serverId: string,
  change: UpdateConsoleServerBody,
  by: Caller,
): Promise<ConsoleServer> {
  const { store, accounts } = context;
  await ownServer(store, organizationId, serverId);
  const { status, ...configuration } = change;
  if (Object.values(configuration).some((value) => value !== undefined)) {
    const issues = await accounts.changeConfiguration(serverId, configuration, by);
    if (issues !== null) throw new ApiError("VALIDATION_FAILED", { issues });
  }
  if (status !== undefined) {
    const subject = { type: "server", id: serverId } as const;
    const record = { ...by, organizationId, action: "server.updated" as const, subject, details: { status } };
    await store.transaction(async (tx) => {
      const changed = await tx.setServerStatus(organizationId, serverId, status);
      if (changed) tx.recordAudit([{ ...record, atMs: context.clock.nowMs() }]);
    });
    await context.publish();
  }
  const [overview = null] = await accounts.overviews([serverId]);
  return consoleServerOf(await ownServer(store, organizationId, serverId), overview);
}
