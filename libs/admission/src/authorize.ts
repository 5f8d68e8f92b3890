import type { KeyEntry, Scope, ServerEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Directory } from "./directory.ts";

/** The rights of a caller: of a key, or of a person of the console. */
export type CallerRights = Pick<KeyEntry, "organizationId" | "scopes" | "serverIds">;

interface AuthorizeOptions {
  /**
   * Whether to return a removed server of the organization instead of throwing 403. For operations
   * whose contract has the status 404: they answer 404 after admission (decisions, 1.1).
   */
  readonly allowRemoved?: boolean;
}

/**
 * Checks that `caller` has `scope`, and access to `serverId` (lower case) if one is given. Returns
 * the server, or undefined without `serverId`.
 * @throws ApiError 403 MISSING_SCOPE; 403 MISSING_SERVER_ACCESS for a server that is unknown,
 * removed, another organization's, or not in the caller's list.
 */
export function authorize(
  caller: CallerRights,
  scope: Scope,
  directory: Pick<Directory, "server">,
  serverId?: string,
  options: AuthorizeOptions = {},
): ServerEntry | undefined {
  if (!caller.scopes.includes(scope)) throw new ApiError("MISSING_SCOPE", { text: `Missing API scope: ${scope}` });
  if (serverId === undefined) return undefined;
  const server = directory.server(serverId);
  if (!server || !mayReach(caller, server) || (server.status === "removed" && !options.allowRemoved)) {
    throw new ApiError("MISSING_SERVER_ACCESS", { text: `Missing server access: ${serverId}` });
  }
  return server;
}

/** Whether the caller's organization owns the server and the caller's list, if any, names it. */
export function mayReach(caller: CallerRights, server: ServerEntry): boolean {
  return server.organizationId === caller.organizationId && (caller.serverIds?.includes(server.serverId) ?? true);
}
