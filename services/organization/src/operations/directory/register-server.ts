import type { ServerEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { canonicalJson, type Keyring, openPassword, sealPassword, uuidV7 } from "@kapi/kernel";

import { type AuditCaller, originOf } from "../../domain/audit.ts";
import type { NewServer } from "../../domain/directory/ports.ts";
import type { DirectoryContext } from "./directory-context.ts";

/** What the registration of a server needs besides the directory. */
export interface RegistrationContext extends DirectoryContext {
  readonly tradingServers: {
    /** Keys that seal the tokens. */
    readonly keys: Keyring;
    /** Whether http addresses are allowed. */
    readonly allowInsecure: boolean;
  };
}

const NOT_HTTPS = {
  path: ["tradingServerUrl"],
  code: "invalid_format",
  message: "The address must begin with https://",
};

/**
 * The token of a server is never sent to another address, so a change of the address must include a
 * token. The old token is not simply deleted: kapi would then send `TRADING_SERVER_TOKEN` to the
 * new address, which may be mistyped. All servers without a token of their own share that token.
 */
const NO_TOKEN_FOR_ADDRESS = {
  path: ["tradingServerToken"],
  code: "custom",
  message: "The token of this server is for its old address: give a token for the new one",
};

/** A trading server to register or to change. */
export interface RegisterServer extends Pick<ServerEntry, "organizationId" | "tradingServerUrl" | "configuration"> {
  /** A known server with this id is changed. A new server gets this id; absent: a new id. */
  readonly serverId?: string | undefined;
  /** Token of calls to the server. Absent: a known server at the same address keeps its token. */
  readonly tradingServerToken?: string | undefined;
}

/**
 * Registers a trading server, or changes a known one. The audit log gets an entry, unless nothing
 * changed. Throws 400 for an http address unless `allowInsecure` is set, and for a new address
 * without a token if the server has a token of its own; 404 for an unknown organization; 403 for
 * the server id of another organization.
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
    const hasOwnToken = before?.sealedToken !== undefined;
    if (hasOwnToken && token === undefined && before.tradingServerUrl !== tradingServerUrl)
      throw new ApiError("VALIDATION_FAILED", { issues: [NO_TOKEN_FOR_ADDRESS] });
    const tokenChanged = before !== null && token !== undefined && tokenOf(before, tradingServers.keys) !== token;
    if (before === null || isChanged(before, wanted) || tokenChanged) {
      const action = registered.server.version === 1 ? "server.created" : "server.updated";
      const named = { name: configuration.serverName, tradingServer: originOf(tradingServerUrl) };
      const details = tokenChanged ? { ...named, tokenChanged } : named;
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

/** Null: no token, or sealed with a removed key. */
function tokenOf({ serverId, sealedToken }: NewServer, keys: Keyring): string | null {
  if (sealedToken === undefined || !keys.keys.has(sealedToken.keyId)) return null;
  return openPassword(keys, serverId, sealedToken);
}
