import type { AuditCaller } from "../../domain/audit.ts";
import type { DirectoryContext } from "./directory-context.ts";
import { getServer, type ShownServerEntry } from "./list-directory.ts";

/** A server and its wanted status. */
export interface SetServerStatus {
  readonly organizationId: string;
  readonly serverId: string;
  readonly status: "active" | "disabled";
}

/**
 * Sets the status of a server and announces it in the directory (decisions, 4.10). A change is in
 * the audit log. Throws 404 if the organization has no such server.
 */
export async function setServerStatus(
  context: DirectoryContext,
  { organizationId, serverId, status }: SetServerStatus,
  by: AuditCaller,
): Promise<ShownServerEntry> {
  const subject = { type: "server", id: serverId } as const;
  const record = { ...by, organizationId, action: "server.updated" as const, subject, details: { status } };
  await context.store.transaction(async (tx) => {
    const changed = await tx.setServerStatus(organizationId, serverId, status);
    if (changed) tx.recordAudit([{ ...record, atMs: context.clock.nowMs() }]);
  });
  await context.publish();
  return getServer(context, organizationId, serverId);
}
