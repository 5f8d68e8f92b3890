/** What becomes of the claims of requests, counted once each. */
import type { ClaimOutcome } from "@kapi/admission";
import { counter } from "@kapi/runtime";

const claims = counter(
  "gateway.claims",
  "Claims on idempotency keys that were decided, by `outcome` (claimed, taken_over: of an abandoned one, duplicate, mismatch, open, untouched), `late`: held, and no longer this request's to answer, and `untold`: passwords are being sent that Redis does not know of",
  "{claim}",
);

export function countClaims(outcomes: readonly ClaimOutcome[]): void {
  for (const { kind: outcome } of outcomes) claims.add(1, { outcome });
}

/** Claims whose passwords are being sent while Redis cannot be told so. */
export function countUntoldClaims(count: number): void {
  claims.add(count, { outcome: "untold" });
}

/** Claims whose 202 would have come too late. */
export function countLateClaims(count: number): void {
  claims.add(count, { outcome: "late" });
}
