import { ExportAuditQuery, ListAuditQuery } from "@kapi/contracts";
import { parse } from "@kapi/http";

import { type AuditLog, shownToPeople } from "../../domain/audit.ts";
import type { Directory } from "../../domain/ports.ts";
import { exportAuditLog } from "../../operations/export-audit-log.ts";
import { listAuditLog } from "../../operations/list-audit-log.ts";
import { sendCsv } from "./csv-answer.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** The organization's audit log, in pages and as CSV. */
export function registerAuditRoutes(
  routes: SignedInRoutes,
  dependencies: { readonly auditLog: AuditLog; readonly directory: Directory },
): void {
  routes.get("/audit", "audit:read", async ({ user }, request) => {
    const query = parse(ListAuditQuery, request.query);
    const page = await listAuditLog(dependencies, user.organizationId, query);
    return { ...page, entries: page.entries.map(shownToPeople) };
  });
  routes.get("/audit/export", "audit:read", async ({ user }, request, reply) => {
    const query = parse(ExportAuditQuery, request.query);
    return sendCsv(reply, { name: "audit-log", ...(await exportAuditLog(dependencies, user.organizationId, query)) });
  });
}
