import type { RejectionCode } from "@kapi/trading-server";

/** A change that made `event`; both JSON text. */
export function appliedOutcome(reference: string, event: string): string {
  return `{"reference":${JSON.stringify(reference)},"status":"applied","event":${event}}`;
}

/** A change that changed nothing. */
export function unchangedOutcome(reference: string): string {
  return JSON.stringify({ reference, status: "applied", event: null });
}

/** A rejected change. */
export function refusedOutcome(reference: string, { code, message }: { code: RejectionCode; message: string }): string {
  return JSON.stringify({ reference, status: "refused", code, message });
}

/** A change that is not complete; never stored. */
export function incompleteOutcome(reference: string, message: string): string {
  return JSON.stringify({ reference, status: "incomplete", message });
}

/** A reference that was settled before any change applied. */
export function closedOutcome(reference: string): string {
  return JSON.stringify({ reference, status: "closed" });
}
