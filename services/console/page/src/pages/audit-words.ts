import type { AuditEntry } from "../api/shapes.ts";

/** Each action of the audit log in words, in the order of the filter. */
export const ACTION_WORDS: Readonly<Record<string, string>> = {
  "session.opened": "Signed in",
  "session.failed": "Failed to sign in",
  "organization.created": "Created the organization",
  "organization.two_factor_required": "Required two-factor authentication",
  "organization.two_factor_optional": "Stopped requiring two-factor authentication",
  "user.invited": "Invited a person",
  "user.invitation_cancelled": "Cancelled an invitation",
  "user.created": "Created a user",
  "user.role_changed": "Changed a role",
  "user.disabled": "Disabled a user",
  "user.sessions_ended": "Ended sessions",
  "user.password_changed": "Changed their password",
  "user.password_reset": "Reset a user's password",
  "user.password_recovery_requested": "Requested a link for a forgotten password",
  "user.password_recovered": "Set a new password by a link",
  "user.two_factor_enabled": "Turned on two-factor authentication",
  "user.two_factor_disabled": "Turned off two-factor authentication",
  "user.two_factor_reset": "Reset a user's two-factor authentication",
  "user.recovery_codes_replaced": "Replaced their recovery codes",
  "user.recovery_code_used": "Used a recovery code",
  "key.created": "Created a key",
  "key.revoked": "Revoked a key",
  "key.first_used": "Used a key for the first time",
  "server.created": "Registered a server",
  "server.updated": "Changed a server",
  "webhook.created": "Added a webhook",
  "webhook.updated": "Changed a webhook",
  "webhook.deleted": "Deleted a webhook",
  "webhook.secret_rotated": "Rotated a webhook secret",
  "account.password_reset": "Reset a trading password",
  "account.investor_password_reset": "Reset an investor password",
  "account.disable": "Disabled an account",
  "account.enable": "Enabled an account",
  "account.close_only": "Made an account close-only",
  "account.flatten": "Flattened an account",
  "account.archive": "Archived an account",
  "finance.deposit": "Deposited",
  "finance.withdraw": "Withdrew",
  "risk.set_rules": "Changed risk rules",
  "risk.delete_rules": "Deleted risk rules",
  "risk.set_template": "Changed a risk template",
  "risk.delete_template": "Deleted a risk template",
  unreadable: "Unreadable entry",
};

/** Describes an action; returns the action itself if a later release added it. */
export function actionInWords(action: string): string {
  return ACTION_WORDS[action] ?? action;
}

/**
 * Describes who acted: a user's e-mail address, a key's name and id, or the operator; null if
 * unknown.
 */
export function actorInWords(actor: AuditEntry["actor"]): string | null {
  if (actor === null) return null;
  const { type, id, name } = actor;
  if (type === "key") return name === null ? `key ${id ?? ""}` : `key ${name} (${id ?? ""})`;
  return name ?? (id === null ? type : `${type} ${id}`);
}

/**
 * Describes what was changed; null if the entry does not say it. A user is described by the e-mail
 * address, or as "themselves" if the actor is this user; the organization as "the organization".
 * Anything else, and a user who is not in `emails`, is described by type and id. `emails` has the
 * e-mail addresses of known users, by user id.
 */
export function subjectInWords({ subject, actor }: AuditEntry, emails: ReadonlyMap<string, string>): string | null {
  if (subject === null) return null;
  const { type, id } = subject;
  if (type === "organization") return "the organization";
  if (type !== "user") return `${type} ${id}`;
  if (actor?.type === "user" && actor.id === id) return "themselves";
  return emails.get(id) ?? `user ${id}`;
}

/** The details of an entry, as lines of `name: value`. Details without a value are left out. */
export function detailsInWords(details: AuditEntry["details"]): string[] {
  return Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : textOf(value)}`);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
