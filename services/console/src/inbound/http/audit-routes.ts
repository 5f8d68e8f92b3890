import { ListAuditQuery } from "@kapi/contracts";
import { parse } from "@kapi/http";

import { type AuditLog, shownToPeople } from "../../domain/audit.ts";
import type { Directory } from "../../domain/ports.ts";
import { listAuditLog } from "../../operations/list-audit-log.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** The organization's audit log. */
export function registerAuditRoutes(
  routes: SignedInRoutes,
  dependencies: { readonly auditLog: AuditLog; readonly directory: Directory },
): void {
  routes.get("/audit", "audit:read", async ({ user }, request) => {
    const query = parse(ListAuditQuery, request.query);
    const page = await listAuditLog(dependencies, user.organizationId, query);
    return { ...page, entries: page.entries.map(shownToPeople) };
  });
}
