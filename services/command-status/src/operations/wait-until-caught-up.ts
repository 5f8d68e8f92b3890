import { type Clock, delay } from "@kapi/kernel";

import type { CommandStore, LogEnds, LogPosition } from "../domain/ports.ts";

/** How long a caller is kept waiting, and how often the positions are looked at meanwhile. */
const CAUGHT_UP_DEADLINE_MS = 10_000;
const POLL_INTERVAL_MS = 50;

/**
 * True as soon as everything that was published before the call has been taken in, by whichever process; false where it
 * is not within ten seconds. Wallets are set up again from what is open here, so nothing may be missing (design, 3).
 */
export async function waitUntilCaughtUp(
  {
    store,
    ends,
    clock,
  }: { readonly store: Pick<CommandStore, "positions">; readonly ends: LogEnds; readonly clock: Clock },
  deadlineMs = CAUGHT_UP_DEADLINE_MS,
): Promise<boolean> {
  const expiresAtMs = clock.nowMs() + deadlineMs;
  const published = await currentEnds(ends, deadlineMs);
  if (published === null) return false;
  for (;;) {
    if (isCaughtUp(published, await store.positions())) return true;
    if (clock.nowMs() + POLL_INTERVAL_MS > expiresAtMs) return false;
    await delay(POLL_INTERVAL_MS);
  }
}

/** Null where Kafka does not tell within `deadlineMs`. */
async function currentEnds(ends: LogEnds, deadlineMs: number): Promise<readonly LogPosition[] | null> {
  const told = new AbortController();
  try {
    return await Promise.race([ends.current(), delay(deadlineMs, told.signal).then(() => null)]);
  } finally {
    told.abort();
  }
}

/** Whether every place of `published` has been reached by `positions`. */
export function isCaughtUp(published: readonly LogPosition[], positions: readonly LogPosition[]): boolean {
  const reached = new Map(positions.map((at) => [`${at.topic}/${at.partition}`, at.nextOffset]));
  return published.every((end) => (reached.get(`${end.topic}/${end.partition}`) ?? 0n) >= end.nextOffset);
}
