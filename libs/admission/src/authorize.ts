import type { KeyEntry, Scope, ServerEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Directory } from "./directory.ts";

export interface AuthorizeOptions {
  /**
   * Whether to return a removed server of the organization instead of throwing 403. For operations
   * that have 404: they return 404 after admission (decisions, 1.1).
   */
  readonly allowRemoved?: boolean;
}

/**
 * Checks that `key` has `scope`, and access to `serverId` (lower case) if one is given. Returns the
 * server.
 * @throws ApiError 403 MISSING_SCOPE; 403 MISSING_SERVER_ACCESS for a server that is unknown,
 * removed, another organization's, or not in the key's list.
 */
export function authorize(
  key: KeyEntry,
  scope: Scope,
  directory: Pick<Directory, "server">,
  serverId?: string,
  options: AuthorizeOptions = {},
): ServerEntry | undefined {
  if (!key.scopes.includes(scope)) throw new ApiError("MISSING_SCOPE", { text: `Missing API scope: ${scope}` });
  if (serverId === undefined) return undefined;
  const server = directory.server(serverId);
  if (!server || !mayReach(key, server) || (server.status === "removed" && !options.allowRemoved)) {
    throw new ApiError("MISSING_SERVER_ACCESS", { text: `Missing server access: ${serverId}` });
  }
  return server;
}

/** Whether the key's organization owns the server and the key's list, if it has one, names it. */
export function mayReach(key: KeyEntry, server: ServerEntry): boolean {
  return server.organizationId === key.organizationId && (key.serverIds?.includes(server.serverId) ?? true);
}
