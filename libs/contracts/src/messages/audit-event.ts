import { z } from "zod";

import { Actor, CallerAddress } from "../actor.ts";
import { AUDIT_ACTIONS, AUDIT_SUBJECT_TYPES } from "../http/audit.ts";

/** Most entries of one answer to GET /internal/audit-outbox. */
export const MAX_AUDIT_EVENTS = 100;

/**
 * An entry of the audit log as another service than its owner makes it. Never a password, a secret,
 * a token, or an address with one.
 */
export const AuditEvent = z.object({
  eventId: z.uuid(),
  organizationId: z.guid(),
  at: z.iso.datetime(),
  action: z.enum(AUDIT_ACTIONS),
  /** Null where a process of release 0.1.0 passed the request on. */
  actor: Actor.nullable(),
  address: CallerAddress,
  subject: z.object({ type: z.enum(AUDIT_SUBJECT_TYPES), id: z.string() }),
  details: z.record(z.string(), z.unknown()),
});
export type AuditEvent = z.infer<typeof AuditEvent>;

/** Answer of GET /internal/audit-outbox, the oldest first. */
export const AuditOutboxAnswer = z.object({ events: z.array(AuditEvent) });
/** Body of POST /internal/audit-outbox/recorded: ids of events that are in the audit log. */
export const AuditRecordedBody = z.object({ eventIds: z.array(z.uuid()).min(1).max(MAX_AUDIT_EVENTS) });
