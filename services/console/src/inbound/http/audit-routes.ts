import { ListAuditQuery } from "@kapi/contracts";
import { parse } from "@kapi/http";

import type { ConsoleContext } from "../../../operations/console-context.ts";
import { shownToPeople } from "../../../domain/audit.ts";
import { listAuditLog } from "../../../operations/list-audit-log.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** The organization's audit log. */
export function installAuditRoutes(routes: SignedInRoutes, context: ConsoleContext): void {
  routes.get("/audit", async ({ user }, request) => {
    const query = parse(ListAuditQuery, request.query);
    const page = await listAuditLog(context.auditLog, user.organizationId, query);
    return { ...page, entries: page.entries.map(shownToPeople) };
  });
}
