import type { ClaimKeeper, TakenIn } from "../domain/ports.ts";

/** Tells the claims what is final and can be read here now; always after the commit. */
export async function tellClaims(claims: ClaimKeeper, taken: readonly TakenIn[]): Promise<void> {
  const over = taken.filter((row) => row.final && row.readable);
  if (over.length > 0) await claims.forget(over);
}
