import type { AuditEvent } from "@kapi/contracts";

/** Who asks for a change, and from where. Null: not known. */
export interface AuditCaller {
  readonly actor: AuditEvent["actor"];
  /** Network address. */
  readonly address: string | null;
}

/** An entry for the audit log, which the console service owns. */
export interface AuditRecord extends AuditCaller, Pick<AuditEvent, "organizationId" | "action" | "subject"> {
  /** Short texts and numbers. Never a password, a key's secret or a token. */
  readonly details?: AuditEvent["details"];
  readonly atMs: number;
  /** Given where a repeat of its cause records it again: it is recorded once under this id. */
  readonly eventId?: string;
}

/** Of an address its scheme, host and port: what comes behind may hold a token. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}
