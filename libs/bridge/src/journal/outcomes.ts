import type { RefusalCode } from "@kapi/trading-server";

/** The outcome of a reference whose change made `event` (JSON text), as JSON text. */
export function appliedOutcome(reference: string, event: string): string {
  return `{"reference":${JSON.stringify(reference)},"status":"applied","event":${event}}`;
}

/** The outcome of a reference whose change found the account so already. */
export function unchangedOutcome(reference: string): string {
  return JSON.stringify({ reference, status: "applied", event: null });
}

export function refusedOutcome(reference: string, { code, message }: { code: RefusalCode; message: string }): string {
  return JSON.stringify({ reference, status: "refused", code, message });
}

/** The outcome of a reference that was settled before any change with it was applied. */
export function closedOutcome(reference: string): string {
  return JSON.stringify({ reference, status: "closed" });
}
