/**
 * The end of every deletion, after the trading server's part: what it closed is booked and
 * announced, then nothing that is known of the account is left anywhere. Each step may be done
 * again, and by several at once.
 */
import { faultPoint } from "@kapi/runtime";

import type { Account } from "../domain/account.ts";
import type { FeedSource } from "../domain/history-ports.ts";
import type { AccountTraces, DeletionBook } from "../domain/ports.ts";
import { catchUp } from "./catch-up.ts";

/**
 * Deletions of one batch that are completed side by side. Once so many have failed, the batch tries
 * no further one.
 */
const MAX_AT_ONCE = 8;
/** Why the rest of such a batch has to be done again. */
export const NOT_TRIED = "not tried, as others of its batch could not be completed";
/**
 * How long a deletion by itself books: thousands of closed positions, and less than the gateway
 * waits for the whole.
 */
const MAX_BOOKING_MS = 8_000;
/**
 * Tries of the service itself, the last about 5 min after the first, that booked nothing; then it
 * goes on without.
 */
const MAX_STALLED_ATTEMPTS = 5;

export interface DeletionPorts {
  readonly book: DeletionBook;
  readonly traces: AccountTraces;
  readonly feed: FeedSource;
}

/**
 * Books the events of an account that the trading server has deleted, up to its last one: closing
 * deals and cancelled orders become facts before that of the deletion. Rejects where that could not
 * be done in time.
 */
export async function bookLastEvents({ book, feed }: DeletionPorts, account: Account): Promise<void> {
  await catchUp({ reader: book, feed }, account, MAX_BOOKING_MS);
  faultPoint("account.deletion-booked");
}

/**
 * As {@link bookLastEvents}, for the service's own tries, which come ever more seldom: after some
 * that booked nothing at all the rest is left out and told to `onSkipped`, so that every deletion
 * ends.
 */
export async function bookOrSkipLastEvents(
  ports: DeletionPorts,
  account: Account,
  onSkipped: (error: unknown) => void,
): Promise<void> {
  const bookedBefore = await ports.book.bookedSequence(account);
  try {
    await bookLastEvents(ports, account);
  } catch (error) {
    if (bookedBefore === null) throw error;
    const stalls = await ports.book.noteStall(account.id, bookedBefore);
    if (stalls < MAX_STALLED_ATTEMPTS) throw error;
    await ports.book.skipEvents(account.id);
    onSkipped(error);
  }
}

/**
 * Removes what this service, finance and metrics know of an account whose last events are booked.
 * Rejects where one step could not be done; all of them are then done again.
 */
export async function removeTraces({ book, traces }: DeletionPorts, account: Account): Promise<void> {
  const { serverId, accountNumber } = account;
  await book.deleteHistory(serverId, accountNumber);
  faultPoint("account.deletion-history");
  await traces.inFinance(serverId, accountNumber);
  faultPoint("account.deletion-finance");
  await traces.inMetrics(serverId, accountNumber);
  faultPoint("account.deletion-metrics");
}

/**
 * Takes accounts that the trading server has deleted as far as they get before their commands are
 * final: marked `deleting`, their last events booked, and their traces removed. For each, null or
 * why it has to be done again. What takes longer is taken to its end as an unfinished deletion.
 */
export async function completeDeletions(
  ports: DeletionPorts,
  accounts: readonly Account[],
): Promise<(string | null)[]> {
  const reasons: (string | null)[] = [];
  for (let from = 0; from < accounts.length; from += MAX_AT_ONCE) {
    const some = accounts.slice(from, from + MAX_AT_ONCE);
    const failed = reasons.filter((reason) => reason !== null).length;
    const tries = failed < MAX_AT_ONCE;
    reasons.push(...(await Promise.all(some.map((account) => completed(ports, account, tries)))));
  }
  return reasons;
}

async function completed(ports: DeletionPorts, account: Account, tries: boolean): Promise<string | null> {
  try {
    faultPoint("account.deletion-trading-server");
    await ports.book.markDeleting(account.id);
    faultPoint("account.deletion-marked");
    if (!tries) return NOT_TRIED;
    await catchUp({ reader: ports.book, feed: ports.feed }, account);
    faultPoint("account.deletion-booked");
    await removeTraces(ports, account);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
