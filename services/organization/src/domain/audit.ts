import type { AuditEvent } from "@kapi/contracts";

/** Who asked for a change, and from where. Null: unknown. */
export interface AuditCaller {
  readonly actor: AuditEvent["actor"];
  /** Network address. */
  readonly address: string | null;
}

/** An entry for the audit log of the console service. */
export interface AuditRecord extends AuditCaller, Pick<AuditEvent, "organizationId" | "action" | "subject"> {
  /** Short values and lists. Never passwords, secrets of keys, or tokens. */
  readonly details?: AuditEvent["details"];
  readonly atMs: number;
  /** Set if the same event may be reported again: of the entries with one id, one is recorded. */
  readonly eventId?: string;
}

/** A request that was billed to a management key. */
export interface KeyUse {
  readonly keyId: string;
  readonly atMs: number;
  /** Network address of the caller; null: unknown. */
  readonly address: string | null;
}

/** What a transaction writes for the audit log. */
export interface AuditTransaction {
  /** Adds entries for the audit log; known event ids are skipped. */
  recordAudit(records: readonly AuditRecord[]): void;
  /** Records the first use of keys, also in the audit log. `uses` has each key at most once. */
  recordFirstKeyUses(uses: readonly KeyUse[]): void;
}

/**
 * Scheme, host and port of a URL, because its other parts may have a secret. Empty if `url` is not
 * a URL.
 */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}
