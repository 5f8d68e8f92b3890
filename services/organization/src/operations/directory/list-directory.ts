/** Reads of organizations, keys and servers, for the operator and the console. */
import { type ConsoleKey, type PageQuery, type PageNumbers, pageNumbersOf, type ServerEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { consoleKeyOf } from "../../domain/directory/management-key.ts";
import type { Organization } from "../../domain/directory/ports.ts";
import type { DirectoryContext } from "./directory-context.ts";

/** A server as the operator and the console see it. */
export type ShownServerEntry = Omit<ServerEntry, "kind" | "version">;

/** A page of all organizations, newest first. */
export async function listOrganizations(
  { store }: Pick<DirectoryContext, "store">,
  query: PageQuery,
): Promise<{ organizations: readonly Organization[]; pagination: PageNumbers }> {
  const { rows, total } = await store.readOrganizations(query);
  return { organizations: rows, pagination: pageNumbersOf(query, total) };
}

/**
 * A page of an organization's keys, newest first, revoked keys last. Throws 404 for an unknown
 * organization.
 */
export async function listOrganizationKeys(
  { store, clock }: Pick<DirectoryContext, "store" | "clock">,
  organizationId: string,
  query: PageQuery,
): Promise<{ keys: ConsoleKey[]; pagination: PageNumbers }> {
  await assertKnown(store, organizationId);
  const { rows, total } = await store.readKeys(organizationId, query);
  return { keys: rows.map((key) => consoleKeyOf(key, clock.nowMs())), pagination: pageNumbersOf(query, total) };
}

/** A page of an organization's servers, oldest first. Throws 404 for an unknown organization. */
export async function listOrganizationServers(
  { store }: Pick<DirectoryContext, "store">,
  organizationId: string,
  query: PageQuery,
): Promise<{ servers: ShownServerEntry[]; pagination: PageNumbers }> {
  await assertKnown(store, organizationId);
  const { rows, total } = await store.readServers(organizationId, query);
  return { servers: rows.map(shownServerOf), pagination: pageNumbersOf(query, total) };
}

/** A page of the servers of all organizations, oldest first. */
export async function listAllServers(
  { store }: Pick<DirectoryContext, "store">,
  query: PageQuery,
): Promise<{ servers: ShownServerEntry[]; pagination: PageNumbers }> {
  const { rows, total } = await store.readAllServers(query);
  return { servers: rows.map(shownServerOf), pagination: pageNumbersOf(query, total) };
}

/**
 * A server of an organization. Throws 404 for an unknown or removed server, and for a server of
 * another organization.
 */
export async function getServer(
  { store }: Pick<DirectoryContext, "store">,
  organizationId: string,
  serverId: string,
): Promise<ShownServerEntry> {
  const server = await store.readServer(organizationId, serverId);
  if (server === null) throw new ApiError("SERVER_NOT_FOUND");
  return shownServerOf(server);
}

function shownServerOf({ kind: _kind, version: _version, ...server }: ServerEntry): ShownServerEntry {
  return server;
}

async function assertKnown(store: DirectoryContext["store"], organizationId: string): Promise<void> {
  if (!(await store.organizationExists(organizationId))) throw new ApiError("NOT_FOUND");
}
