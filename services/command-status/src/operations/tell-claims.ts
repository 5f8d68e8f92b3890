import type { ClaimKeeper, TakenIn } from "../domain/ports.ts";

/**
 * Tells the claims what can be read here now; always after the commit. `which`: "all" after a batch of messages, "final"
 * after a batch of events, whose other rows were told when their message came.
 */
export async function tellClaims(
  claims: ClaimKeeper,
  taken: readonly TakenIn[],
  which: "all" | "final",
): Promise<void> {
  const readable = taken.filter((row) => row.readable);
  const final = readable.filter((row) => row.final);
  const open = which === "all" ? readable.filter((row) => !row.final) : [];
  await Promise.all([
    open.length > 0 ? claims.seen(open) : undefined,
    final.length > 0 ? claims.forget(final) : undefined,
  ]);
}
