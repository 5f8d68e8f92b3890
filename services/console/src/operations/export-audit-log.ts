import {
  type AuditAnswer,
  type AuditEntry,
  type ExportAuditQuery,
  MAX_AUDIT_ENTRIES,
  MAX_EXPORTED_AUDIT_ENTRIES,
} from "@kapi/contracts";

import { type AuditLog, shownToPeople } from "../domain/audit.ts";
import { csvLine } from "../domain/csv.ts";
import type { Directory } from "../domain/ports.ts";
import { listAuditLog } from "./list-audit-log.ts";

const COLUMN_NAMES = [
  "id",
  "time",
  "actorType",
  "actorId",
  "actor",
  "action",
  "subjectType",
  "subjectId",
  "address",
  "details",
];

interface ExportDependencies {
  readonly auditLog: AuditLog;
  readonly directory: Pick<Directory, "keyNames">;
}

/**
 * The audit log of an organization as CSV, newest first: a chunk with the column names, then one
 * chunk for each page. At most {@link MAX_EXPORTED_AUDIT_ENTRIES} entries. Rejects if the first
 * page cannot be read. If a later page cannot be read, the chunks end with an error, so the reader
 * notices that the file is incomplete.
 */
export async function exportAuditLog(
  dependencies: ExportDependencies,
  organizationId: string,
  filters: ExportAuditQuery,
): Promise<AsyncIterable<string>> {
  const read = (before: string | undefined): Promise<AuditAnswer> =>
    listAuditLog(dependencies, organizationId, { ...filters, before, limit: MAX_AUDIT_ENTRIES });
  return chunksFrom(await read(undefined), read);
}

async function* chunksFrom(first: AuditAnswer, read: (before: string) => Promise<AuditAnswer>): AsyncGenerator<string> {
  yield csvLine(COLUMN_NAMES);
  let page = first;
  for (let exported = MAX_AUDIT_ENTRIES; ; exported += MAX_AUDIT_ENTRIES) {
    if (page.entries.length > 0) yield page.entries.map((entry) => csvLine(cellsOf(shownToPeople(entry)))).join("");
    if (page.next === null || exported >= MAX_EXPORTED_AUDIT_ENTRIES) return;
    page = await read(page.next);
  }
}

function cellsOf({ id, at, actor, action, subject, address, details }: AuditEntry): string[] {
  const who = [actor?.type ?? "", actor?.id ?? "", actor?.name ?? ""];
  const what = [action, subject?.type ?? "", subject?.id ?? ""];
  const more = Object.keys(details).length === 0 ? "" : JSON.stringify(details);
  return [id, at, ...who, ...what, address ?? "", more];
}
