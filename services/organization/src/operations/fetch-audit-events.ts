import type { AuditEvent } from "@kapi/contracts";

import type { AuditRecord, AuditSource } from "../domain/audit.ts";
import type { Store } from "../domain/ports.ts";

/**
 * Writes what waits at a source into the audit log; returns how many events. The source keeps each
 * until it is told that it is recorded, and one that is read again is recorded once.
 */
export async function fetchAuditEvents(store: Pick<Store, "transaction">, source: AuditSource): Promise<number> {
  const events = await source.read();
  if (events.length === 0) return 0;
  await store.transaction(async (tx) => tx.recordAudit(events.map(recordOf)));
  await source.recorded(events.map(({ eventId }) => eventId));
  return events.length;
}

function recordOf({ at, address, ...event }: AuditEvent): AuditRecord {
  return { ...event, address: address ?? null, atMs: Date.parse(at) };
}
