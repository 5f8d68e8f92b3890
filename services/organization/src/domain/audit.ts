import type { AuditEvent } from "@kapi/contracts";

/** Who asked for a change, and from where. Null: unknown. */
export interface AuditCaller {
  readonly actor: AuditEvent["actor"];
  /** Network address. */
  readonly address: string | null;
}

/** An entry for the audit log of the console service. */
export interface AuditRecord extends AuditCaller, Pick<AuditEvent, "organizationId" | "action" | "subject"> {
  /** Short texts and numbers. Never passwords, secrets of keys, or tokens. */
  readonly details?: AuditEvent["details"];
  readonly atMs: number;
  /** Set where a cause can repeat: one id is recorded once. */
  readonly eventId?: string;
}

/** Scheme, host and port of an address: its path or query may hold a token. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}
