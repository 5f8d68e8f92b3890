import { Guid, ListAuditQuery, PageQuery } from "@kapi/contracts";
import { type FastifyInstance, type FastifyRequest, parse } from "@kapi/http";
import { z } from "zod";

import type { PeopleContext } from "../../operations/console-context.ts";
import { listAuditLog } from "../../operations/list-audit-log.ts";
import { getCreditBalance } from "../../operations/get-credit-balance.ts";
import {
  listOrganizationKeys,
  listOrganizations,
  listOrganizationServers,
  listUsers,
} from "../../operations/list-for-operator.ts";

const ORGANIZATION = "/internal/organizations/:organizationId";
/** Without an organization: all entries. */
const OperatorAuditQuery = ListAuditQuery.extend({ organizationId: Guid.optional() });
const OrganizationPath = z.object({ organizationId: Guid });

/** The operator's lists, each with `page` and `limit`; the audit log with `before` and `limit`. */
export function installListRoutes(app: FastifyInstance, context: PeopleContext): void {
  app.get("/internal/organizations", ({ query }) => listOrganizations(context, parse(PageQuery, query)));
  app.get(`${ORGANIZATION}/users`, (request) => listUsers(context, organizationOf(request), pageOf(request)));
  app.get(`${ORGANIZATION}/keys`, (request) => listOrganizationKeys(context, organizationOf(request), pageOf(request)));
  app.get(`${ORGANIZATION}/servers`, (request) =>
    listOrganizationServers(context, organizationOf(request), pageOf(request)),
  );
  app.get("/internal/audit", (request) => {
    const { organizationId = null, ...query } = parse(OperatorAuditQuery, request.query);
    return listAuditLog(context.auditLog, organizationId, query);
  });
  app.get(`${ORGANIZATION}/credits`, async (request) => ({
    wallet: await getCreditBalance(context, organizationOf(request)),
  }));
}

function organizationOf(request: FastifyRequest): string {
  return parse(OrganizationPath, request.params).organizationId;
}

function pageOf(request: FastifyRequest): PageQuery {
  return parse(PageQuery, request.query);
}
