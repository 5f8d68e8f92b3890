import type { AuditAction, AuditAnswer, AuditEntry, AuditEvent } from "@kapi/contracts";

/** Who asks for a change, and from where. Null: not known. */
export interface AuditCaller {
  readonly actor: AuditEvent["actor"];
  /** Network address. */
  readonly address: string | null;
}

/** An entry of the audit log before it is written. */
export interface AuditRecord extends AuditCaller {
  readonly organizationId: string | null;
  readonly action: AuditAction;
  readonly subject: AuditEntry["subject"];
  /** Short texts and numbers. Never a password, a key's secret or a token. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly atMs: number;
  /** Of what was recorded elsewhere first: it is recorded once under this id. */
  readonly eventId?: string;
}

/** An entry that another service made; a later release of it may have other actions. */
export type FetchedAuditRecord = Omit<AuditRecord, "action"> & { readonly action: string; readonly eventId: string };

/** Which entries of the audit log. */
export interface AuditQuery {
  /** Null: those of all organizations, and those of none. */
  readonly organizationId: string | null;
  /** Only entries that are older than this one. */
  readonly before: string | undefined;
  readonly limit: number;
}

/** The audit log as readers see it. */
export interface AuditLog {
  /** Newest first. */
  page(query: AuditQuery): Promise<AuditEntry[]>;
}

/** A service that makes changes which the audit log records. */
export interface AuditSource {
  /** The oldest events that it has not been told are recorded. */
  readonly read: () => Promise<readonly unknown[]>;
  /** Tells it that these are recorded. */
  readonly recorded: (eventIds: readonly string[]) => Promise<void>;
}

/** Details of the operator's own network, and of how its servers are reached. */
const OPERATORS_DETAILS = new Set(["tradingServer", "tokenChanged"]);

/**
 * An entry as people of an organization see it: without the addresses of the operator's own
 * network.
 */
export function shownToPeople(entry: AuditEntry): AuditEntry {
  if (entry.actor?.type !== "operator") return entry;
  const details = Object.fromEntries(Object.entries(entry.details).filter(([name]) => !OPERATORS_DETAILS.has(name)));
  return { ...entry, address: null, details };
}

/** A page and where it ends. `found` has one entry more than `limit` where there are more. */
export function auditPageOf(found: readonly AuditEntry[], limit: number): AuditAnswer {
  const entries = found.slice(0, limit);
  return { entries, next: found.length > limit ? (entries.at(-1)?.id ?? null) : null };
}
