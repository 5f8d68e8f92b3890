import type { AuditEntry } from "../api/shapes.ts";

const WORDS: Readonly<Record<string, string>> = {
  "session.opened": "Signed in",
  "session.failed": "Failed to sign in",
  "organization.created": "Created the organization",
  "user.created": "Created a user",
  "user.disabled": "Disabled a user",
  "user.password_changed": "Changed their password",
  "user.password_reset": "Reset a user's password",
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
  unreadable: "Unreadable entry",
};

/** Describes an action; returns the action itself if a later release added it. */
export function actionInWords(action: string): string {
  return WORDS[action] ?? action;
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

/** The details of an entry, as lines of `name: value`. */
export function detailsInWords(details: AuditEntry["details"]): string[] {
  return Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : textOf(value)}`);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
