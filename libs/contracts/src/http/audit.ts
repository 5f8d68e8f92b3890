import { z } from "zod";

import { ACTOR_TYPES } from "../actor.ts";
import { queryInteger } from "../values.ts";
import { FilterText, TIME_FIELDS } from "./pagination.ts";

/** Actions in the audit log. Later releases may record more. */
export const AUDIT_ACTIONS = [
  "session.opened",
  // A wrong password or code, or a throttled attempt: at the sign-in, or at a change of the
  // password or of the second factor.
  "session.failed",
  "organization.created",
  "organization.two_factor_required",
  "organization.two_factor_optional",
  "user.invited",
  "user.invitation_cancelled",
  "user.created",
  "user.role_changed",
  "user.sessions_ended",
  "user.two_factor_enabled",
  "user.two_factor_disabled",
  "user.two_factor_reset",
  "user.recovery_codes_replaced",
  "user.recovery_code_used",
  "user.password_recovery_requested",
  "user.password_recovered",
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
  // Commands, recorded with their outcome. Password resets are recorded whoever requested them.
  "account.password_reset",
  "account.investor_password_reset",
  // Other commands are recorded only if a person requested them.
  "account.disable",
  "account.enable",
  "account.close_only",
  "account.flatten",
  "account.archive",
  "finance.deposit",
  "finance.withdraw",
  "risk.set_rules",
  "risk.delete_rules",
  "risk.set_template",
  "risk.delete_template",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** The types of actors in entries. */
export const AUDIT_ACTOR_TYPES = [...ACTOR_TYPES, "operator"] as const;
export const AUDIT_SUBJECT_TYPES = ["organization", "user", "key", "server", "webhook", "account"] as const;

/** Maximum number of entries per page. */
export const MAX_AUDIT_ENTRIES = 100;
const DEFAULT_AUDIT_ENTRIES = 50;
/** Maximum number of entries of an export. */
export const MAX_EXPORTED_AUDIT_ENTRIES = 100_000;
/** At most 18 digits, so that every id fits into a `bigint`. */
const ENTRY_ID = /^[1-9]\d{0,17}$/;

/**
 * One entry of the audit log. It never contains a password, a key's secret, a token, or an address
 * with one of these.
 */
export const AuditEntry = z.object({
  /** Rises with every entry. Sent as `before`, it requests the entries that are older. */
  id: z.string(),
  at: z.iso.datetime(),
  /** Null for failed sign-ins if their user is unknown, or was not looked up. */
  organizationId: z.guid().nullable(),
  action: z.string(),
  /** Who did it; null if unknown, as for a failed sign-in. */
  actor: z
    .object({
      type: z.enum(AUDIT_ACTOR_TYPES),
      /** Null for the operator, who has no id. */
      id: z.string().nullable(),
      /** A person's e-mail address, a key's name. */
      name: z.string().nullable(),
    })
    .nullable(),
  /** Network address of the request; null if unknown. */
  address: z.string().nullable(),
  /**
   * What was changed, or the user of a failed sign-in. Null for failed sign-ins if their user is
   * unknown or was not looked up, or if the entry counts failures of several users.
   */
  subject: z.object({ type: z.enum(AUDIT_SUBJECT_TYPES), id: z.string() }).nullable(),
  details: z.record(z.string(), z.unknown()),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** Which entries of the audit log are listed; all filters apply together. */
const AuditFilters = z.object({
  actorType: z.enum(AUDIT_ACTOR_TYPES).optional(),
  /** The id of a person or of a key. */
  actorId: FilterText.optional(),
  action: FilterText.optional(),
  subjectType: z.enum(AUDIT_SUBJECT_TYPES).optional(),
  subjectId: FilterText.optional(),
  ...TIME_FIELDS,
});

/** Query of the audit log, for the operator and for the console. */
export const ListAuditQuery = AuditFilters.extend({
  before: z.string().regex(ENTRY_ID, "must be the id of an entry").optional(),
  limit: queryInteger(1, MAX_AUDIT_ENTRIES).default(DEFAULT_AUDIT_ENTRIES),
});
export type ListAuditQuery = z.infer<typeof ListAuditQuery>;
/**
 * Query of the audit log as CSV. The answer has at most {@link MAX_EXPORTED_AUDIT_ENTRIES} entries,
 * newest first.
 */
export const ExportAuditQuery = AuditFilters;
export type ExportAuditQuery = z.infer<typeof ExportAuditQuery>;

/** The answer, newest first. Send `next` as `before` for the next page; null at the end. */
export const AuditAnswer = z.object({ entries: z.array(AuditEntry), next: z.string().nullable() });
export type AuditAnswer = z.infer<typeof AuditAnswer>;
