import type { AuditEntry } from "../api/shapes.ts";

const WORDS: Readonly<Record<string, string>> = {
  "session.opened": "Signed in",
  "session.failed": "Failed to sign in",
  "organization.created": "Made the organization",
  "user.created": "Made a user",
  "user.disabled": "Disabled a user",
  "user.password_changed": "Changed the own password",
  "user.password_reset": "Reset a user's password",
  "key.created": "Made a key",
  "key.revoked": "Revoked a key",
  "key.first_used": "Used the key for the first time",
  "server.created": "Registered a server",
  "server.updated": "Changed a server",
  "webhook.created": "Added a webhook",
  "webhook.updated": "Changed a webhook",
  "webhook.deleted": "Deleted a webhook",
  "webhook.secret_rotated": "Gave a webhook another secret",
  "account.password_reset": "Reset a trading password",
  "account.investor_password_reset": "Reset an investor password",
  unreadable: "An entry that could not be read",
};

/** What was done, in words; its name where a later release did it. */
export function actionInWords(action: string): string {
  return WORDS[action] ?? action;
}

/**
 * Who did it: a person's e-mail address, a key's name and id, the operator; null where nobody
 * knows.
 */
export function actorInWords(actor: AuditEntry["actor"]): string | null {
  if (actor === null) return null;
  const { type, id, name } = actor;
  if (type === "key") return name === null ? `key ${id ?? ""}` : `key ${name} (${id ?? ""})`;
  return name ?? (id === null ? type : `${type} ${id}`);
}

/** What there is to tell besides, as names and values on one line each. */
export function detailsInWords(details: AuditEntry["details"]): string[] {
  return Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : textOf(value)}`);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
