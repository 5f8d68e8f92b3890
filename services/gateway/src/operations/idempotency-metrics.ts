/** What becomes of the claims of requests, counted once each. */
import type { RecordOutcome } from "@kapi/admission";
import { counter } from "@kapi/runtime";

const claims = counter(
  "gateway.claims",
  "Claims on idempotency keys that were decided, by `outcome` (claimed, taken_over: of an abandoned one, duplicate, mismatch, open, untouched), `late`: held, and no longer this request's to answer, and `unconfirmed`: answered with passwords, which Redis could not be reached to confirm",
  "{claim}",
);

/** Names that the metric has for outcomes, where they differ: dashboards and alerts go by them. */
const LABELS: Partial<Record<RecordOutcome["kind"], string>> = {
  created: "claimed",
  reclaimed: "taken_over",
  skipped: "untouched",
};

export function countClaims(outcomes: readonly RecordOutcome[]): void {
  for (const { kind } of outcomes) claims.add(1, { outcome: LABELS[kind] ?? kind });
}

/** Claims whose passwords are being sent while Redis cannot be reached to confirm it. */
export function countUnconfirmedClaims(count: number): void {
  claims.add(count, { outcome: "unconfirmed" });
}

/** Claims whose 202 would have come too late. */
export function countLateClaims(count: number): void {
  claims.add(count, { outcome: "late" });
}
