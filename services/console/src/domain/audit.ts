import type { AuditAction, AuditAnswer, AuditEntry, AuditEvent, ExportAuditQuery } from "@kapi/contracts";

/** The author of a change, and the author's address. Null: unknown. */
export interface AuditCaller {
  readonly actor: AuditEvent["actor"];
  /** Network address. */
  readonly address: string | null;
}

/** An entry of the audit log, before it is written. */
export interface AuditRecord extends AuditCaller {
  readonly organizationId: string | null;
  readonly action: AuditAction;
  readonly subject: AuditEntry["subject"];
  /** Short texts and numbers. Never passwords, secrets of keys, or tokens. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly atMs: number;
  /** Set for entries of other services and for failed sign-ins: an event id is recorded once. */
  readonly eventId?: string;
}

/** An entry of another service; a later release may have other actions. */
export type FetchedAuditRecord = Omit<AuditRecord, "action"> & { readonly action: string; readonly eventId: string };

/** The filters of a read: an entry matches all of them. `from` is inclusive, `to` exclusive. */
export type AuditFilters = ExportAuditQuery;

/** Which page of the audit log is read. */
export interface AuditQuery {
  /** Null: all organizations, and entries without one. */
  readonly organizationId: string | null;
  /** Id of an entry; the page has entries with smaller ids. */
  readonly before: string | undefined;
  readonly limit: number;
  readonly filters: AuditFilters;
}

/** Reads of the audit log. */
export interface AuditLog {
  /** Newest first. */
  page(query: AuditQuery): Promise<AuditEntry[]>;
}

/** A service with audit entries of its own. */
export interface AuditSource {
  /** The oldest events that are not marked as recorded. */
  readonly read: () => Promise<readonly unknown[]>;
  /** Marks events as recorded. */
  readonly recorded: (eventIds: readonly string[]) => Promise<void>;
}

/** Details about the operator's own network and access to servers. */
const OPERATORS_DETAILS = new Set(["tradingServer", "tokenChanged"]);

/**
 * An entry as people of an organization see it. An entry of the operator is without the address and
 * without {@link OPERATORS_DETAILS}.
 */
export function shownToPeople(entry: AuditEntry): AuditEntry {
  if (entry.actor?.type !== "operator") return entry;
  const details = Object.fromEntries(Object.entries(entry.details).filter(([name]) => !OPERATORS_DETAILS.has(name)));
  return { ...entry, address: null, details };
}

/**
 * A page, with the id of its last entry as `before` of the next page. `found` has one entry more
 * than `limit` if there is a next page.
 */
export function auditPageOf(found: readonly AuditEntry[], limit: number): AuditAnswer {
  const entries = found.slice(0, limit);
  return { entries, next: found.length > limit ? (entries.at(-1)?.id ?? null) : null };
}
