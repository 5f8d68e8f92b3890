/**
 * Books an account's events up to the trading server's current sequence. Runs before a fresh read
 * (decisions, 4.11), and in a deletion before the history is removed (decisions, 4.8). Also runs
 * before a command completes if its change caused further events (decisions, 3.7). Missing events
 * are read from the trading server, so no catch-up depends on the consumer of `trading.events`.
 */
import type { AccountRef } from "@kapi/contracts";
import { ApiError, DependencyError } from "@kapi/http";
import { delay } from "@kapi/kernel";

import type { FeedSource, HistoryReader } from "../domain/history-ports.ts";

/** Default maximum wait: that of a read (decisions, 4.11). */
const MAX_WAIT_MS = 2_000;
/** Pause after a page without progress; doubled after each further page without progress. */
const FIRST_PAUSE_MS = 50;
/** Gives up after this many pages in a row without progress; the pauses take 1.6 s in all. */
const MAX_IDLE_ATTEMPTS = 6;

/**
 * `reader` returns how far an account is booked. `feed` returns how far the trading server is, and
 * books the missing events. A deletion passes its repository as `reader`, because the history
 * reader does not show an account that is being deleted.
 */
export interface CatchUpDependencies {
  readonly reader: Pick<HistoryReader, "bookedSequence">;
  readonly feed: FeedSource;
}

/**
 * Resolves to true when the account is booked up to the trading server's current sequence, and to
 * false if `reader` does not show the account. Rejects with DependencyError if `waitMs` passes, if
 * events cannot be booked, if the trading server gives no clear answer, or if the trading server
 * does not know an account with booked events. Rejects with ApiError TOO_MANY_CONCURRENT_REQUESTS
 * above the organization's share of calls to the trading server (decisions, 1.7). Booked events
 * stay booked.
 */
export async function catchUp(
  dependencies: CatchUpDependencies,
  account: AccountRef,
  waitMs = MAX_WAIT_MS,
): Promise<boolean> {
  const ended = new AbortController();
  const late = delay(waitMs, ended.signal).then((): never => {
    throw new DependencyError(`the history was not booked within ${waitMs} ms`);
  });
  try {
    return await Promise.race([bookAll(dependencies, account, ended.signal), late]);
  } catch (error) {
    if (error instanceof DependencyError || error instanceof ApiError) throw error;
    throw new DependencyError("the history is unavailable", { cause: error });
  } finally {
    ended.abort();
  }
}

async function bookAll(
  { reader, feed }: CatchUpDependencies,
  account: AccountRef,
  ended: AbortSignal,
): Promise<boolean> {
  let booked = await reader.bookedSequence(account);
  if (booked === null) return false;
  const target = await feed.lastSequence(account);
  // A 404 of a proxy looks like that of a trading server without the account.
  if (target === 0 && booked > 0)
    throw new DependencyError("the trading server does not know an account with booked events");
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
