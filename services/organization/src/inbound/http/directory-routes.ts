import { ORGANIZATION_ROUTES } from "@kapi/contracts";
import { addressOf, ApiError, callerOf, type FastifyInstance, type FastifyRequest, serve } from "@kapi/http";
import type { RedisConnection } from "@kapi/redis";

import type { AuditCaller } from "../../domain/audit.ts";
import { consoleKeyOf } from "../../domain/directory/management-key.ts";
import type { FormerUsers } from "../../domain/directory/ports.ts";
import type { Store } from "../../domain/ports.ts";
import type { LedgerContext } from "../../operations/credits/ledger-context.ts";
import { createKey } from "../../operations/directory/create-key.ts";
import { createOrganization } from "../../operations/directory/create-organization.ts";
import {
  getServer,
  listAllServers,
  listOrganizationKeys,
  listOrganizations,
  listOrganizationServers,
} from "../../operations/directory/list-directory.ts";
import { type RegistrationContext, registerServer } from "../../operations/directory/register-server.ts";
import { revokeKey } from "../../operations/directory/revoke-key.ts";
import { setServerStatus } from "../../operations/directory/set-server-status.ts";

interface DirectoryRouteContext extends RegistrationContext, Omit<LedgerContext, "store"> {
  readonly store: Store;
  readonly redis: RedisConnection;
}

/** Routes of organizations, keys, servers and prices, for the operator and the console. */
export function registerDirectoryRoutes(app: FastifyInstance, context: DirectoryRouteContext): void {
  const { store, clock } = context;
  serve(app, ORGANIZATION_ROUTES.listOrganizations, ({ query }) => listOrganizations(context, query));
  serve(app, ORGANIZATION_ROUTES.createOrganization, ({ body }, request) =>
    createOrganization(context, body, changedBy(request)),
  );
  serve(app, ORGANIZATION_ROUTES.getOrganization, async ({ params: { organizationId } }) => {
    const found = await store.readOrganization(organizationId);
    if (found === null) throw new ApiError("NOT_FOUND");
    return found;
  });
  serve(app, ORGANIZATION_ROUTES.changePrices, async ({ body: prices }) => {
    await store.transaction((tx) => tx.setPrices(prices));
    await context.publish();
    return { prices };
  });
  registerKeyRoutes(app, context);
  serve(app, ORGANIZATION_ROUTES.listServers, ({ params, query }) =>
    listOrganizationServers(context, params.organizationId, query),
  );
  serve(app, ORGANIZATION_ROUTES.listAllServers, ({ query }) => listAllServers(context, query));
  serve(app, ORGANIZATION_ROUTES.registerServer, ({ params: { organizationId }, body }, request) =>
    registerServer(context, { organizationId, ...body }, changedBy(request)),
  );
  serve(app, ORGANIZATION_ROUTES.getServer, async ({ params: { organizationId, serverId } }) => ({
    server: await getServer({ store }, organizationId, serverId),
  }));
  serve(app, ORGANIZATION_ROUTES.setServerStatus, async ({ params, body }, request) => ({
    server: await setServerStatus({ ...context, clock }, { ...params, ...body }, changedBy(request)),
  }));
}

function registerKeyRoutes(app: FastifyInstance, context: DirectoryRouteContext): void {
  const { store, clock } = context;
  serve(app, ORGANIZATION_ROUTES.listKeys, ({ params, query }) =>
    listOrganizationKeys(context, params.organizationId, query),
  );
  serve(app, ORGANIZATION_ROUTES.createKey, async ({ params: { organizationId }, body }, request) => {
    const { key, managementKey } = await createKey(context, { organizationId, ...body }, changedBy(request));
    return { keyId: key.keyId, managementKey, key: consoleKeyOf(key, clock.nowMs()) };
  });
  serve(app, ORGANIZATION_ROUTES.revokeKey, async ({ params: { keyId } }, request) => {
    await revokeKey(context, keyId, null, changedBy(request));
    return { keyId, revoked: true };
  });
  serve(app, ORGANIZATION_ROUTES.revokeOwnKey, async ({ params: { organizationId, keyId } }, request) => {
    const key = await revokeKey(context, keyId, organizationId, changedBy(request));
    return { key: consoleKeyOf(key, clock.nowMs()) };
  });
  serve(app, ORGANIZATION_ROUTES.readKeyNames, async ({ body: { keyIds } }) => ({
    names: Object.fromEntries(await store.readKeyNames(keyIds)),
  }));
}

/** The author of a change, for the audit log: the user whom the console names, or the operator. */
function changedBy(request: FastifyRequest): AuditCaller {
  return callerOf(request.headers) ?? { actor: { type: "operator", id: null }, address: addressOf(request) };
}

/** Routes by which the console service copies users of earlier releases into its tables. */
export function registerFormerUserRoutes(app: FastifyInstance, users: FormerUsers, limit: number): void {
  serve(app, ORGANIZATION_ROUTES.listFormerUsers, async () => ({ users: await users.unmoved(limit) }));
  serve(app, ORGANIZATION_ROUTES.markUsersMoved, async ({ body }) => {
    await users.markMoved(body.users);
    return { moved: body.users.length };
  });
}
