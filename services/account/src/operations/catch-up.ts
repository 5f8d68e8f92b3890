/**
 * Booking an account's events up to the trading server's own sequence: before a read that is never
 * stale (decisions, 4.11), and before the end of a command that made events of more than the
 * account itself (decisions, 3.7). What the topic has not brought is asked of the trading server,
 * so this does not depend on the consumer.
 */
import { DependencyError } from "@kapi/http";
import { delay } from "@kapi/kernel";

import type { FeedSource, HistoryReader } from "../domain/history-ports.ts";
import type { AccountName } from "../domain/ports.ts";

/** How long a read waits at most (decisions, 4.11). */
const MAX_WAIT_MS = 2_000;
/** Pause after a page that brought the account no further; then twice as long each time. */
const FIRST_PAUSE_MS = 50;
/** So many pages in a row that bring the account no further are enough: 1.6 s with the pauses. */
const MAX_IDLE_ATTEMPTS = 6;

export interface CatchUpSources {
  readonly reader: Pick<HistoryReader, "bookedSequence">;
  readonly feed: FeedSource;
}

/**
 * Resolves when the account is booked up to what the trading server has at this moment; false where
 * there is no such account. After `waitMs`, or where events cannot be booked, or the trading server
 * gives no clear answer: DependencyError. What was booked until then stays booked.
 */
export async function catchUp(sources: CatchUpSources, account: AccountName, waitMs = MAX_WAIT_MS): Promise<boolean> {
  const ended = new AbortController();
  const late = delay(waitMs, ended.signal).then((): never => {
    throw new DependencyError(`the history was not booked up within ${waitMs} ms`);
  });
  try {
    return await Promise.race([bookAll(sources, account, ended.signal), late]);
  } catch (error) {
    throw error instanceof DependencyError ? error : new DependencyError("the history is not known", { cause: error });
  } finally {
    ended.abort();
  }
}

async function bookAll({ reader, feed }: CatchUpSources, account: AccountName, ended: AbortSignal): Promise<boolean> {
  let booked = await reader.bookedSequence(account);
  if (booked === null) return false;
  const target = await feed.lastSequence(account);
  let idle = 0;
  while (booked !== null && booked < target && !ended.aborted) {
    await feed.bookNextPage(account, booked);
    const after = await reader.bookedSequence(account);
    idle = after === booked ? idle + 1 : 0;
    if (idle >= MAX_IDLE_ATTEMPTS) throw new DependencyError(`no event after ${booked} can be booked`);
    if (idle > 0) await delay(FIRST_PAUSE_MS * 2 ** (idle - 1), ended);
    booked = after;
  }
  return booked !== null;
}
