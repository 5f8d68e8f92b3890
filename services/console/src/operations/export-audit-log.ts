import {
  type AuditAnswer,
  type AuditEntry,
  type ExportAuditQuery,
  MAX_AUDIT_ENTRIES,
  MAX_EXPORTED_AUDIT_ENTRIES,
} from "@kapi/contracts";

import { type AuditLog, shownToPeople } from "../domain/audit.ts";
import type { Directory } from "../domain/ports.ts";
import { type CsvExport, type CsvPage, exportCsv } from "./csv-export.ts";
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
 * The audit log of an organization as CSV, newest first. At most
 * {@link MAX_EXPORTED_AUDIT_ENTRIES} entries, which are not counted before the export. Rejects if
 * the first page cannot be read. If a later page cannot be read, the chunks end with an error, so
 * the reader notices that the file is incomplete.
 * @throws ApiError as {@link exportCsv}
 */
export function exportAuditLog(
  dependencies: ExportDependencies,
  organizationId: string,
  filters: ExportAuditQuery,
): Promise<CsvExport> {
  const read = (before: string | undefined): Promise<AuditAnswer> =>
    listAuditLog(dependencies, organizationId, { ...filters, before, limit: MAX_AUDIT_ENTRIES });
  return exportCsv({ organizationId, columnNames: COLUMN_NAMES, pages: pagesOf(read) });
}

async function* pagesOf(read: (before: string | undefined) => Promise<AuditAnswer>): AsyncGenerator<CsvPage> {
  let before: string | undefined;
  for (let exported = 0; exported < MAX_EXPORTED_AUDIT_ENTRIES; exported += MAX_AUDIT_ENTRIES) {
    const { entries, next } = await read(before);
    yield { total: null, rows: entries.map((entry) => cellsOf(shownToPeople(entry))) };
    if (next === null) return;
    before = next;
  }
}

function cellsOf({ id, at, actor, action, subject, address, details }: AuditEntry): string[] {
  const who = [actor?.type ?? "", actor?.id ?? "", actor?.name ?? ""];
  const what = [action, subject?.type ?? "", subject?.id ?? ""];
  const more = Object.keys(details).length === 0 ? "" : JSON.stringify(details);
  return [id, at, ...who, ...what, address ?? "", more];
}
