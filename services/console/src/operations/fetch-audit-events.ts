import type { Clock } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { AuditSource } from "../domain/audit.ts";
import { readAuditEvent } from "../domain/audit-event.ts";
import type { PeopleStore } from "../domain/ports.ts";

interface FetchAuditDependencies {
  readonly store: PeopleStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Writes waiting events of a source into the audit log. Then lets the source mark these events as
 * recorded, and returns their number. A repeated event is recorded once. A partly unreadable event
 * is recorded with its readable fields. An event without a readable id stays in the source.
 */
export async function fetchAuditEvents(
  { store, clock, logger }: FetchAuditDependencies,
  source: AuditSource,
): Promise<number> {
  const nowMs = clock.nowMs();
  const records = (await source.read()).flatMap((event) => {
    const read = readAuditEvent(event, nowMs);
    if (read === null) logger.error("an event for the audit log has no readable id: the event stays in its source");
    else if (read.unreadable.length > 0) {
      const { eventId } = read.record;
      logger.error(
        { eventId, fields: read.unreadable },
        "an event for the audit log is recorded without its unreadable fields",
      );
    }
    return read === null ? [] : [read.record];
  });
  if (records.length === 0) return 0;
  await store.transaction(async (tx) => tx.recordAudit(records));
  await source.recorded(records.map(({ eventId }) => eventId));
  return records.length;
}
