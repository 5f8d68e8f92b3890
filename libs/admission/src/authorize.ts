import type { KeyEntry, Scope, ServerEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Directory } from "./directory.ts";

export interface AuthorizeOptions {
  /**
   * Give a removed server of the organization back instead of 403, for operations that list 404:
   * they answer it as 404 after admission (decisions, 1.1).
   */
  readonly allowRemoved?: boolean;
}

/**
 * Checks that `key` may do what needs `scope`, on `serverId` where one is named (lower case).
 * Throws 403 MISSING_SCOPE, then 403 MISSING_SERVER_ACCESS: unknown, another organization's, not in
 * the key's list, or removed. Returns the server.
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
