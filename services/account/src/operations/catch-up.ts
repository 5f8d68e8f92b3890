/**
 * Booking an account's events up to the trading server's own sequence: before a read that is never stale (decisions,
 * 4.11), and before the end of a command that made events of more than the account itself (decisions, 3.7). What the
 * topic has not brought is asked of the trading server, so this does not depend on the consumer.
 */
import { DependencyError } from "@kapi/http";
import { delay } from "@kapi/kernel";

import type { FeedSource, HistoryReader } from "../domain/history-ports.ts";
import type { AccountName } from "../domain/ports.ts";

/** How long a read waits at most (decisions, 4.11); a command is tried again later. */
const MAX_WAIT_MS = 2_000;
/** Pause after a page that brought the account no further, as while another process has its row. */
const RETRY_PAUSE_MS = 50;

export interface CatchUpSources {
  readonly reader: Pick<HistoryReader, "bookedSequence">;
  readonly feed: FeedSource;
}

/**
 * Resolves when the account is booked up to what the trading server has at this moment; false where there is no such
 * account. After 2 s, or where the trading server gives no clear answer: DependencyError. What was booked until then stays
 * booked.
 */
export async function catchUp(sources: CatchUpSources, account: AccountName): Promise<boolean> {
  const ended = new AbortController();
  const late = delay(MAX_WAIT_MS, ended.signal).then((): never => {
    throw new DependencyError(`the history was not booked up within ${MAX_WAIT_MS} ms`);
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
  const [target, bookedAtFirst] = await Promise.all([feed.lastSequence(account), reader.bookedSequence(account)]);
  let booked = bookedAtFirst;
  while (booked !== null && booked < target && !ended.aborted) {
    await feed.bookNextPage(account, booked);
    const after = await reader.bookedSequence(account);
    if (after === booked) await delay(RETRY_PAUSE_MS);
    booked = after;
  }
  return booked !== null;
}
