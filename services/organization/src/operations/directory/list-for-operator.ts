/** The operator's lists: pages of what there is, newest first unless said otherwise. */
import { type ConsoleKey, type PageQuery, type Pagination, paginationOf, type ServerEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { User } from "../../domain/console-ports.ts";
import { consoleKeyOf } from "../../domain/directory/management-key.ts";
import type { Organization } from "../../domain/ports.ts";
import type { RowRange } from "../../domain/row-range.ts";
import type { PeopleContext } from "../console-context.ts";

export async function listOrganizations(
  { store }: PeopleContext,
  query: PageQuery,
): Promise<{ organizations: Organization[]; pagination: Pagination }> {
  const [organizations, total] = await Promise.all([
    store.readOrganizations(rangeOf(query)),
    store.countOrganizations(),
  ]);
  return { organizations, pagination: paginationOf(query, total) };
}

/** People of an organization, disabled ones too. Throws 404 for an unknown organization, as the next two do. */
export async function listUsers(
  { store, users }: PeopleContext,
  organizationId: string,
  query: PageQuery,
): Promise<{ users: User[]; pagination: Pagination }> {
  await known(store, organizationId);
  const [found, total] = await Promise.all([users.page(organizationId, rangeOf(query)), users.count(organizationId)]);
  return { users: found, pagination: paginationOf(query, total) };
}

/** Keys of an organization: active ones first. */
export async function listOrganizationKeys(
  { store, clock }: PeopleContext,
  organizationId: string,
  query: PageQuery,
): Promise<{ keys: ConsoleKey[]; pagination: Pagination }> {
  await known(store, organizationId);
  const [found, total] = await Promise.all([
    store.readKeys(organizationId, rangeOf(query)),
    store.countKeys(organizationId),
  ]);
  return { keys: found.map((key) => consoleKeyOf(key, clock.nowMs())), pagination: paginationOf(query, total) };
}

/** Servers of an organization as they were registered, oldest first. */
export async function listOrganizationServers(
  { store }: PeopleContext,
  organizationId: string,
  query: PageQuery,
): Promise<{ servers: Omit<ServerEntry, "kind" | "version">[]; pagination: Pagination }> {
  await known(store, organizationId);
  const [found, total] = await Promise.all([
    store.readServers(organizationId, rangeOf(query)),
    store.countServers(organizationId),
  ]);
  const servers = found.map(({ kind: _kind, version: _version, ...server }) => server);
  return { servers, pagination: paginationOf(query, total) };
}

async function known(store: PeopleContext["store"], organizationId: string): Promise<void> {
  if (!(await store.organizationExists(organizationId))) throw new ApiError("NOT_FOUND");
}

function rangeOf({ page, limit }: PageQuery): RowRange {
  return { limit, offset: (page - 1) * limit };
}
