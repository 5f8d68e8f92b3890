import type { ServerEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { canonicalJson, type Keyring, openPassword, sealPassword, uuidV7 } from "@kapi/kernel";

import { type AuditCaller, originOf } from "../domain/audit.ts";
import type { NewServer } from "../domain/ports.ts";
import type { OperatorContext } from "./operator-context.ts";

/** What the registration of trading servers works with. */
export interface RegistrationContext extends OperatorContext {
  readonly tradingServers: {
    /** Seal their tokens. */
    readonly keys: Keyring;
    /** Whether they may be reached by http: on one machine alone. */
    readonly allowInsecure: boolean;
  };
}

const NOT_HTTPS = {
  path: ["tradingServerUrl"],
  code: "invalid_format",
  message: "The address must begin with https://",
};

export interface RegisterServer extends Pick<ServerEntry, "organizationId" | "tradingServerUrl" | "configuration"> {
  /** Of a server that is known already: it is changed. Else a new one gets this id, or one of its own. */
  readonly serverId?: string | undefined;
  /** What calls to the server carry. Without one a known server keeps its own, as long as its address stays. */
  readonly tradingServerToken?: string | undefined;
}

/**
 * Registers a trading server of an organization, or tells where a known one is reached now. The
 * audit log has an entry where something differs.
 */
export async function registerServer(
  context: RegistrationContext,
  wanted: RegisterServer,
  by: AuditCaller,
): Promise<{ serverId: string }> {
  const { store, clock, tradingServers } = context;
  const { tradingServerToken: token, ...asked } = wanted;
  const { organizationId, tradingServerUrl, configuration } = asked;
  if (!tradingServers.allowInsecure && !tradingServerUrl.startsWith("https://"))
    throw new ApiError("VALIDATION_FAILED", { issues: [NOT_HTTPS] });
  if (!(await store.organizationExists(organizationId))) throw new ApiError("NOT_FOUND");
  const nowMs = clock.nowMs();
  const serverId = wanted.serverId ?? uuidV7(nowMs);
  const sealed = token === undefined ? {} : { sealedToken: sealPassword(tradingServers.keys, serverId, token) };
  const server = await store.transaction(async (tx) => {
    const registered = await tx.upsertServer({ ...asked, ...sealed, serverId }, nowMs);
    if (registered === null) return null;
    const { before } = registered;
    const changed = before === null ? {} : changesOfToken(before, wanted, tradingServers.keys);
    if (before === null || isChanged(before, wanted) || Object.keys(changed).length > 0) {
      const action = registered.server.version === 1 ? "server.created" : "server.updated";
      const details = { name: configuration.serverName, tradingServer: originOf(tradingServerUrl), ...changed };
      const subject = { type: "server", id: serverId } as const;
      tx.recordAudit([{ ...by, organizationId, action, subject, details, atMs: nowMs }]);
    }
    return registered;
  });
  if (!server) throw new ApiError("MISSING_SERVER_ACCESS", { text: `Missing server access: ${serverId}` });
  await context.publish();
  return { serverId };
}

function isChanged(before: NewServer, { tradingServerUrl, configuration }: RegisterServer): boolean {
  return (
    before.tradingServerUrl !== tradingServerUrl || canonicalJson(before.configuration) !== canonicalJson(configuration)
  );
}

/** What happens to the token of a known server: another one, or none any more at a new address. */
function changesOfToken(
  before: NewServer,
  { tradingServerToken, tradingServerUrl }: RegisterServer,
  keys: Keyring,
): { tokenChanged?: true; tokenDropped?: true } {
  if (tradingServerToken !== undefined)
    return tokenOf(before, keys) === tradingServerToken ? {} : { tokenChanged: true };
  return before.sealedToken !== undefined && before.tradingServerUrl !== tradingServerUrl ? { tokenDropped: true } : {};
}

/** Null: it has none, or one that was sealed with a key that is gone. */
function tokenOf({ serverId, sealedToken }: NewServer, keys: Keyring): string | null {
  if (sealedToken === undefined || !keys.keys.has(sealedToken.keyId)) return null;
  return openPassword(keys, serverId, sealedToken);
}
