import { z } from "zod";

import { Actor, CallerAddress } from "../actor.ts";
import { AUDIT_SUBJECT_TYPES, type AuditAction } from "../http/audit.ts";

/** Maximum number of entries per answer of GET /internal/audit-outbox. */
export const MAX_AUDIT_EVENTS = 100;
const MAX_ACTION_CHARACTERS = 64;

/**
 * An entry of the audit log, made by a service other than the console service. It never contains a
 * password, a secret, a token, or a URL that contains one of them.
 */
export const AuditEvent = z.object({
  eventId: z.guid(),
  /** Null: the entry belongs to no organization. */
  organizationId: z.guid().nullable(),
  at: z.iso.datetime(),
  /** One of `AUDIT_ACTIONS`, or one of a later release. */
  action: z.string().min(1).max(MAX_ACTION_CHARACTERS),
  /**
   * The operator has one token and no id. Null: the request came through a process of release
   * 0.1.0, which does not name the actor.
   */
  actor: z.union([Actor, z.object({ type: z.literal("operator"), id: z.null() })]).nullable(),
  address: CallerAddress,
  subject: z.object({ type: z.enum(AUDIT_SUBJECT_TYPES), id: z.string() }).nullable(),
  details: z.record(z.string(), z.unknown()),
});
/** An entry that a service of this release makes. */
export type AuditEvent = Omit<z.infer<typeof AuditEvent>, "action"> & { readonly action: AuditAction };

/**
 * Answer of GET /internal/audit-outbox, the oldest first. The console service parses each event
 * alone as an {@link AuditEvent}: an unreadable event must not block other events.
 */
export const AuditOutboxAnswer = z.object({ events: z.array(z.unknown()) });
/** Body of POST /internal/audit-outbox/recorded: ids of events that are in the audit log. */
export const AuditRecordedBody = z.object({ eventIds: z.array(z.guid()).min(1).max(MAX_AUDIT_EVENTS) });
