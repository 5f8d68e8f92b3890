import type { Clock } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { AuditSource } from "../domain/audit.ts";
import { readAuditEvent } from "../domain/audit-event.ts";
import type { PeopleStore } from "../domain/ports.ts";

export interface FetchAuditDependencies {
  readonly store: PeopleStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Writes waiting events of a source into the audit log; returns how many. The source keeps an event
 * until it is marked as recorded; a repeated event is recorded once. A partly unreadable event is
 * recorded as far as possible, so that it does not block others.
 */
export async function fetchAuditEvents(
  { store, clock, logger }: FetchAuditDependencies,
  source: AuditSource,
): Promise<number> {
  const nowMs = clock.nowMs();
  const records = (await source.read()).flatMap((event) => {
    const read = readAuditEvent(event, nowMs);
    if (read === null) logger.error("an event for the audit log has no id: it stays where it is");
    else if (read.unreadable.length > 0) {
      const { eventId } = read.record;
      logger.error(
        { eventId, fields: read.unreadable },
        "an event for the audit log is recorded as far as it can be read",
      );
    }
    return read === null ? [] : [read.record];
  });
  if (records.length === 0) return 0;
  await store.transaction(async (tx) => tx.recordAudit(records));
  await source.recorded(records.map(({ eventId }) => eventId));
  return records.length;
}
