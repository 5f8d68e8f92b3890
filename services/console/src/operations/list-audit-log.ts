import type { AuditAnswer, AuditEntry, ListAuditQuery } from "@kapi/contracts";

import { type AuditLog, auditPageOf } from "../domain/audit.ts";
import type { Directory } from "../domain/ports.ts";

/**
 * A page of the audit log, newest first: of one organization, or of all organizations if
 * `organizationId` is null. Only the operator reads the log of all organizations.
 */
export async function listAuditLog(
  { auditLog, directory }: { readonly auditLog: AuditLog; readonly directory: Pick<Directory, "keyNames"> },
  organizationId: string | null,
  { before, limit, ...filters }: ListAuditQuery,
): Promise<AuditAnswer> {
  const page = auditPageOf(await auditLog.page({ organizationId, before, limit: limit + 1, filters }), limit);
  const keyIds = page.entries.flatMap(({ actor }) => (actor?.type === "key" && actor.id !== null ? [actor.id] : []));
  if (keyIds.length === 0) return page;
  const names = await directory.keyNames([...new Set(keyIds)]);
  return { ...page, entries: page.entries.map((entry) => withKeyName(entry, names)) };
}

function withKeyName(entry: AuditEntry, names: ReadonlyMap<string, string>): AuditEntry {
  const { actor } = entry;
  if (actor?.type !== "key" || actor.id === null) return entry;
  return { ...entry, actor: { ...actor, name: names.get(actor.id) ?? null } };
}
