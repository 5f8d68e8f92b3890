import { ORGANIZATION_ROUTES } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import type { PeopleContext } from "../../operations/console-context.ts";
import { listAuditLog } from "../../operations/list-audit-log.ts";
import { getCreditBalance } from "../../operations/credits/get-credit-balance.ts";
import {
  listOrganizationKeys,
  listOrganizations,
  listOrganizationServers,
  listUsers,
} from "../../operations/directory/list-for-operator.ts";

/** The operator's lists, each with `page` and `limit`; the audit log with `before` and `limit`. */
export function installListRoutes(app: FastifyInstance, context: PeopleContext): void {
  serve(app, ORGANIZATION_ROUTES.listOrganizations, ({ query }) => listOrganizations(context, query));
  serve(app, ORGANIZATION_ROUTES.listUsers, ({ params, query }) => listUsers(context, params.organizationId, query));
  serve(app, ORGANIZATION_ROUTES.listKeys, ({ params, query }) =>
    listOrganizationKeys(context, params.organizationId, query),
  );
  serve(app, ORGANIZATION_ROUTES.listServers, ({ params, query }) =>
    listOrganizationServers(context, params.organizationId, query),
  );
  serve(app, ORGANIZATION_ROUTES.listAuditLog, ({ query: { organizationId = null, ...query } }) =>
    listAuditLog(context.auditLog, organizationId, query),
  );
  serve(app, ORGANIZATION_ROUTES.getCreditBalance, async ({ params }) => ({
    wallet: await getCreditBalance(context, params.organizationId),
  }));
}
