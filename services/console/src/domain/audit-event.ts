/** Reads events of the audit log that other services made, each as far as it can be read. */
import { AuditEvent } from "@kapi/contracts";

import type { FetchedAuditRecord } from "./audit.ts";

/** The action of an entry whose own cannot be read. */
export const UNREADABLE_ACTION = "unreadable";
/** Most characters that are kept of a field that cannot be read. */
const MAX_UNREADABLE_CHARACTERS = 500;
/** In JSON: NUL, or half of a surrogate pair. PostgreSQL refuses both, and the batch with them. */
const NOT_STORABLE = /\\u(?:0000|d[89a-f])/;

const Named = AuditEvent.pick({ eventId: true }).loose();
const { organizationId, at, action, actor, address, subject, details } = AuditEvent.shape;

/** What checks a field. */
interface Schema<T> {
  safeParse(value: unknown): { readonly success: true; readonly data: T } | { readonly success: false };
}

/** An event that was read. */
export interface ReadAuditEvent {
  readonly record: FetchedAuditRecord;
  /** Names of the fields that could not be read. */
  readonly unreadable: readonly string[];
}

/**
 * An event as an entry of the audit log. The details of the entry have the text of each field that
 * cannot be read, as of a later release. Null: not even the event id can be read.
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
