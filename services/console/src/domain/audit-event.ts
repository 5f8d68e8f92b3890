/** Parses audit events of other services; valid fields are kept even if others are malformed. */
import { AuditEvent } from "@kapi/contracts";

import type { FetchedAuditRecord } from "./audit.ts";

/** Action of an entry whose event has no readable action. */
export const UNREADABLE_ACTION = "unreadable";
/** Maximum number of characters kept of an unreadable field. */
const MAX_UNREADABLE_CHARACTERS = 500;
/**
 * Matches the JSON escape of NUL or of half a surrogate pair, such as `\u0000` or `\ud800`:
 * PostgreSQL would reject the whole batch. Two backslashes are the escape of one backslash: a `u`
 * after them is a plain letter.
 */
const NOT_STORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

const Named = AuditEvent.pick({ eventId: true }).loose();
const { organizationId, at, action, actor, address, subject, details } = AuditEvent.shape;

/** Validates a field. */
interface Schema<T> {
  safeParse(value: unknown): { readonly success: true; readonly data: T } | { readonly success: false };
}

/** An event of another service as an audit entry. */
export interface ReadAuditEvent {
  readonly record: FetchedAuditRecord;
  /** Names of unreadable fields. */
  readonly unreadable: readonly string[];
}

/**
 * Converts an event into an audit entry. The text of an unreadable field, such as an actor of a
 * type that a later release has, goes into the details of the entry. An address that is too long or
 * not a text is left out. An entry with an unreadable time has the time `nowMs`. Null: the event id
 * is unreadable.
 */
export function readAuditEvent(event: unknown, nowMs: number): ReadAuditEvent | null {
  const named = Named.safeParse(event);
  if (!named.success) return null;
  const unreadable: Record<string, string> = {};
  const read = <T>(name: keyof typeof AuditEvent.shape, schema: Schema<T>): T | null => {
    const value = named.data[name];
    const text = JSON.stringify(value) ?? "";
    const parsed = schema.safeParse(value);
    if (parsed.success && !NOT_STORABLE.test(text)) return parsed.data;
    unreadable[name] = text.slice(0, MAX_UNREADABLE_CHARACTERS).toWellFormed();
    return null;
  };
  const readAt = read("at", at);
  const fields = {
    eventId: named.data.eventId,
    organizationId: read("organizationId", organizationId),
    atMs: readAt === null ? nowMs : Date.parse(readAt),
    action: read("action", action) ?? UNREADABLE_ACTION,
    actor: read("actor", actor),
    address: read("address", address) ?? null,
    subject: read("subject", subject),
  };
  const readDetails = read("details", details) ?? {};
  const names = Object.keys(unreadable);
  return {
    record: { ...fields, details: names.length === 0 ? readDetails : { ...readDetails, unreadable } },
    unreadable: names,
  };
}
