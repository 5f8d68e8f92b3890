import type { AuditAnswer, ListAuditQuery } from "@kapi/contracts";

import { type AuditLog, auditPageOf } from "../domain/audit.ts";

/**
 * A page of the audit log, newest first: of one organization, or for the operator of all
 * (`organizationId` null), with what belongs to none.
 */
export async function listAuditLog(
  log: AuditLog,
  organizationId: string | null,
  { before, limit }: ListAuditQuery,
): Promise<AuditAnswer> {
  return auditPageOf(await log.page({ organizationId, before, limit: limit + 1 }), limit);
}
