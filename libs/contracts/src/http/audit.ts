import { z } from "zod";

import { ACTOR_TYPES } from "../actor.ts";
import { queryInteger } from "../values.ts";

/** Actions in the audit log. Later releases may record more. */
export const AUDIT_ACTIONS = [
  "session.opened",
  // A wrong password or a throttled attempt, at the sign-in or at a change of the password.
  "session.failed",
  "organization.created",
  "user.created",
  "user.disabled",
  "user.password_changed",
  "user.password_reset",
  "key.created",
  "key.revoked",
  "key.first_used",
  "server.created",
  "server.updated",
  "webhook.created",
  "webhook.updated",
  "webhook.deleted",
  "webhook.secret_rotated",
  "account.password_reset",
  "account.investor_password_reset",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const AUDIT_SUBJECT_TYPES = ["organization", "user", "key", "server", "webhook", "account"] as const;

/** Maximum number of entries per page. */
export const MAX_AUDIT_ENTRIES = 100;
const DEFAULT_AUDIT_ENTRIES = 50;
/** At most 18 digits, so that every id fits into a `bigint`. */
const ENTRY_ID = /^[1-9]\d{0,17}$/;

/**
 * One entry of the audit log. It never contains a password, a key's secret, a token, or an address
 * with one of these.
 */
export const AuditEntry = z.object({
  /** Rises with every entry. Sent as `before`, it requests the page after this entry. */
  id: z.string(),
  at: z.iso.datetime(),
  /** Null if the sign-in named no user. */
  organizationId: z.guid().nullable(),
  action: z.string(),
  /** Who did it; null if unknown, as for a failed sign-in. */
  actor: z
    .object({
      type: z.enum([...ACTOR_TYPES, "operator"]),
      /** Null for the operator, who has no id. */
      id: z.string().nullable(),
      /** A person's e-mail address, a key's name. */
      name: z.string().nullable(),
    })
    .nullable(),
  /** Network address of the request; null if unknown. */
  address: z.string().nullable(),
  /** What was changed; null if a failed sign-in named no user. */
  subject: z.object({ type: z.enum(AUDIT_SUBJECT_TYPES), id: z.string() }).nullable(),
  details: z.record(z.string(), z.unknown()),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** Query of the audit log, for the operator and for the console. */
export const ListAuditQuery = z.object({
  before: z.string().regex(ENTRY_ID, "must be the id of an entry").optional(),
  limit: queryInteger(1, MAX_AUDIT_ENTRIES).default(DEFAULT_AUDIT_ENTRIES),
});
export type ListAuditQuery = z.infer<typeof ListAuditQuery>;

/** The answer, newest first. Send `next` as `before` for the next page; null at the end. */
export const AuditAnswer = z.object({ entries: z.array(AuditEntry), next: z.string().nullable() });
export type AuditAnswer = z.infer<typeof AuditAnswer>;
