import type { RejectionCode } from "@kapi/trading-server";

/** The outcome (JSON text) of a change that made `event` (JSON text). */
export function appliedOutcome(reference: string, event: string): string {
  return `{"reference":${JSON.stringify(reference)},"status":"applied","event":${event}}`;
}

/** The outcome (JSON text) of a change that was applied and changed nothing. */
export function unchangedOutcome(reference: string): string {
  return JSON.stringify({ reference, status: "applied", event: null });
}

/** The outcome (JSON text) of a rejected change. */
export function refusedOutcome(reference: string, { code, message }: { code: RejectionCode; message: string }): string {
  return JSON.stringify({ reference, status: "refused", code, message });
}

/** The outcome (JSON text) of a change that is not complete; it is never stored. */
export function incompleteOutcome(reference: string, message: string): string {
  return JSON.stringify({ reference, status: "incomplete", message });
}

/** The outcome (JSON text) of a reference that was settled before its change applied. */
export function closedOutcome(reference: string): string {
  return JSON.stringify({ reference, status: "closed" });
}
