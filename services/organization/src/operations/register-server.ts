import type { ServerEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { uuidV7 } from "@kapi/kernel";

import { type AuditCaller, originOf } from "../domain/audit.ts";
import type { OperatorContext } from "./operator-context.ts";

export interface RegisterServer extends Pick<ServerEntry, "organizationId" | "tradingServerUrl" | "configuration"> {
  /** Of a server that is known already: it is changed. Else a new one gets this id, or one of its own. */
  readonly serverId?: string | undefined;
}

/** Registers a trading server of an organization, or tells where a known one is reached now. */
export async function registerServer(
  context: OperatorContext,
  wanted: RegisterServer,
  by: AuditCaller,
): Promise<{ serverId: string }> {
  const { store, clock } = context;
  const { organizationId, tradingServerUrl, configuration } = wanted;
  if (!(await store.organizationExists(organizationId))) throw new ApiError("NOT_FOUND");
  const nowMs = clock.nowMs();
  const serverId = wanted.serverId ?? uuidV7(nowMs);
  const server = await store.transaction(async (tx) => {
    const registered = await tx.upsertServer({ ...wanted, serverId }, nowMs);
    if (registered === null) return null;
    const action = registered.version === 1 ? "server.created" : "server.updated";
    const details = { name: configuration.serverName, tradingServer: originOf(tradingServerUrl) };
    const subject = { type: "server", id: serverId } as const;
    tx.recordAudit([{ ...by, organizationId, action, subject, details, atMs: nowMs }]);
    return registered;
  });
  if (!server) throw new ApiError("MISSING_SERVER_ACCESS", { text: `Missing server access: ${serverId}` });
  await context.publish();
  return { serverId };
}
