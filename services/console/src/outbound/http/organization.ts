/** The organization service over internal HTTP: the directory, credits, and former users. */
import {
  type InternalRoute,
  MAX_KEY_NAMES,
  ORGANIZATION_ROUTES,
  pathOf,
  type RouteRequest,
  type ShownKey,
  type ShownServer,
} from "@kapi/contracts";
import {
  type Caller,
  callerHeaders,
  callRoute,
  callRouteRaw,
  type CallOptions,
  DependencyError,
  type InternalClient,
  errorFromResponse,
  unexpectedStatus,
} from "@kapi/http";
import type { z } from "zod";

import type { Credits, Directory, FormerUserSource } from "../../domain/ports.ts";

const CLIENT_ERRORS_FROM = 400;
const UNAUTHORIZED = 401;
/** Maximum number of keys, and of servers, that are shown. */
const MAX_KEYS = 1_000;
const MAX_SERVERS = 500;
const ITEMS_PER_PAGE = 100;
/** Marks a POST call as safe to repeat. */
const REPEATABLE = { repeatable: true };

const by = (caller: Caller): CallOptions => ({ headers: callerHeaders(caller) });

/** The directory of the organization service. */
export function createDirectory(client: InternalClient): Directory {
  const routes = ORGANIZATION_ROUTES;
  return {
    organizationName: async (organizationId) =>
      (await ask(client, routes.getOrganization, { params: { organizationId } })).name,
    keys: async (organizationId) => {
      const { items } = await pages(MAX_KEYS, async (query): Promise<Page<ShownKey>> => {
        const { keys, pagination } = await ask(client, routes.listKeys, { params: { organizationId }, query });
        return { items: keys, ...pagination };
      });
      return items;
    },
    createKey: (organizationId, wanted, caller) =>
      ask(client, routes.createKey, { params: { organizationId }, body: wanted }, by(caller)),
    revokeKey: async (organizationId, keyId, caller) =>
      (await ask(client, routes.revokeOwnKey, { params: { organizationId, keyId } }, by(caller))).key,
    keyNames: async (keyIds) => {
      const names = new Map<string, string>();
      for (let from = 0; from < keyIds.length; from += MAX_KEY_NAMES) {
        const body = { keyIds: keyIds.slice(from, from + MAX_KEY_NAMES) };
        const found = await callRoute(client, routes.readKeyNames, { body }, REPEATABLE);
        for (const [keyId, name] of Object.entries(found.names)) names.set(keyId, name);
      }
      return names;
    },
    servers: async (organizationId) => {
      const { items, total } = await pages(MAX_SERVERS, async (query): Promise<Page<ShownServer>> => {
        const { servers, pagination } = await ask(client, routes.listServers, { params: { organizationId }, query });
        return { items: servers, ...pagination };
      });
      return { servers: items, total };
    },
    server: async (organizationId, serverId) =>
      (await ask(client, routes.getServer, { params: { organizationId, serverId } })).server,
    setServerStatus: async (organizationId, serverId, status, caller) => {
      const asked = { params: { organizationId, serverId }, body: { status } };
      await ask(client, routes.setServerStatus, asked, by(caller));
    },
  };
}

/** The credits of the organization service. */
export function createCredits(client: InternalClient): Credits {
  const routes = ORGANIZATION_ROUTES;
  return {
    balance: async (organizationId) =>
      (await ask(client, routes.getCreditBalance, { params: { organizationId } })).wallet,
    changeThreshold: async (organizationId, credits) => {
      const asked = { params: { organizationId }, body: { lowBalanceThreshold: credits } };
      return (await ask(client, routes.changeLowBalanceThreshold, asked)).wallet;
    },
    usage: (organizationId, query) => bytesOf(client, routes.listCreditUsage, { params: { organizationId }, query }),
    usageByDay: (organizationId, days) =>
      bytesOf(client, routes.listUsageByDay, { params: { organizationId }, query: { days } }),
  };
}

/** Users of the previous release. */
export function createFormerUserSource(client: InternalClient): FormerUserSource {
  return {
    read: async () => (await callRoute(client, ORGANIZATION_ROUTES.listFormerUsers, {})).users,
    moved: async (users) => {
      const body = { users: users.map(({ userId, sessionVersion }) => ({ userId, sessionVersion })) };
      await callRoute(client, ORGANIZATION_ROUTES.markUsersMoved, { body }, REPEATABLE);
    },
  };
}

/** Returns the parsed answer. Throws the ApiError of a rejection, and DependencyError otherwise. */
async function ask<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  asked: RouteRequest<R>,
  options?: CallOptions,
): Promise<z.output<R["answer"]>> {
  const body = await bytesOf(client, route, asked, options);
  const parsed = route.answer.safeParse(JSON.parse(body.toString("utf8")));
  if (parsed.success) return parsed.data as z.output<R["answer"]>;
  throw new DependencyError(`${pathOf(route, asked)} was not answered in the agreed shape`, { cause: parsed.error });
}

async function bytesOf<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  asked: RouteRequest<R>,
  options?: CallOptions,
): Promise<Buffer> {
  const response = await callRouteRaw(client, route, asked, options);
  const { status, body } = response;
  const path = pathOf(route, asked);
  // The service rejected the console's token: the person need not sign in again.
  if (status === UNAUTHORIZED) throw unexpectedStatus(path, status);
  if (status >= CLIENT_ERRORS_FROM) throw errorFromResponse(path, response);
  return body;
}

interface Page<T> {
  readonly items: readonly T[];
  /** Number of items on all pages. */
  readonly total: number;
  readonly totalPages: number;
}

/**
 * Reads whole pages of a list until they have at least `most` items or the list ends. Returns the
 * items of these pages, and the number of all items of the list.
 */
async function pages<T>(
  most: number,
  read: (query: { readonly page: number; readonly limit: number }) => Promise<Page<T>>,
): Promise<{ readonly items: readonly T[]; readonly total: number }> {
  const found: T[] = [];
  for (let page = 1; ; page += 1) {
    const { items, total, totalPages } = await read({ page, limit: ITEMS_PER_PAGE });
    found.push(...items);
    if (page >= totalPages || found.length >= most) return { items: found, total };
  }
}
