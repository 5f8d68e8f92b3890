import { z } from "zod";

import { ACTOR_TYPES } from "../actor.ts";
import { queryInteger } from "../values.ts";

/** What the audit log records. A reader may meet others, of a later release. */
export const AUDIT_ACTIONS = [
  "session.opened",
  // A wrong password, or an attempt that had to wait, at the sign-in or at a change of the
  // password.
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

/** Most entries of one page. */
export const MAX_AUDIT_ENTRIES = 100;
const DEFAULT_AUDIT_ENTRIES = 50;
/** The greatest id that a `bigint` holds has 19 digits. */
const ENTRY_ID = /^[1-9]\d{0,17}$/;

/**
 * One entry of the audit log. Never a password, a key's secret, a token, or an address with one.
 */
export const AuditEntry = z.object({
  /** Rises with every entry; given as `before`, the next page goes on behind this entry. */
  id: z.string(),
  at: z.iso.datetime(),
  /** Null where the sign-in named no user. */
  organizationId: z.guid().nullable(),
  action: z.string(),
  /** Who did it; null where that is not known, as of a failed sign-in. */
  actor: z
    .object({
      type: z.enum([...ACTOR_TYPES, "operator"]),
      /** Null for the operator, who has no id. */
      id: z.string().nullable(),
      /** A person's e-mail address, a key's name. */
      name: z.string().nullable(),
    })
    .nullable(),
  /** Network address that it came from; null where that is not known. */
  address: z.string().nullable(),
  /** What it was done to; null where a failed sign-in named no user. */
  subject: z.object({ type: z.enum(AUDIT_SUBJECT_TYPES), id: z.string() }).nullable(),
  details: z.record(z.string(), z.unknown()),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** Query of both lists of the audit log, the operator's and the console's. */
export const ListAuditQuery = z.object({
  before: z.string().regex(ENTRY_ID, "must be the id of an entry").optional(),
  limit: queryInteger(1, MAX_AUDIT_ENTRIES).default(DEFAULT_AUDIT_ENTRIES),
});
export type ListAuditQuery = z.infer<typeof ListAuditQuery>;

/** Their answer, newest first. `next` is to be given as `before`; null at the end. */
export const AuditAnswer = z.object({ entries: z.array(AuditEntry), next: z.string().nullable() });
export type AuditAnswer = z.infer<typeof AuditAnswer>;
