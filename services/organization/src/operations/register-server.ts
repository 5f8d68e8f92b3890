import type { ServerEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { uuidV7 } from "@kapi/kernel";

import type { OperatorContext } from "./operator-context.ts";

export interface RegisterServer extends Pick<ServerEntry, "organizationId" | "tradingServerUrl" | "configuration"> {
  /** Of a server that is known already: it is changed. Else a new one gets this id, or one of its own. */
  readonly serverId?: string | undefined;
}

/** Registers a trading server of an organization, or tells where a known one is reached now. */
export async function registerServer(context: OperatorContext, wanted: RegisterServer): Promise<{ serverId: string }> {
  const { store, clock } = context;
  if (!(await store.organizationExists(wanted.organizationId))) throw new ApiError("NOT_FOUND");
  const serverId = wanted.serverId ?? uuidV7(clock.nowMs());
  const server = await store.transaction((tx) => tx.upsertServer({ ...wanted, serverId }, clock.nowMs()));
  if (!server) throw new ApiError("MISSING_SERVER_ACCESS", { text: `Missing server access: ${serverId}` });
  await context.publish();
  return { serverId };
}
