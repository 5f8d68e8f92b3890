/**
 * The end of every deletion, after the trading server's part: what it closed is booked and announced, then nothing that
 * is known of the account is left anywhere. Each step may be done again, and by several at once.
 */
import { faultPoint } from "@kapi/runtime";

import type { Account } from "../domain/account.ts";
import type { FeedSource } from "../domain/history-ports.ts";
import type { AccountTraces, DeletionBook } from "../domain/ports.ts";
import { catchUp } from "./catch-up.ts";

/** Deletions of one batch that are completed side by side. */
const MAX_AT_ONCE = 8;

export interface DeletionPorts {
  readonly book: DeletionBook;
  readonly traces: AccountTraces;
  readonly feed: FeedSource;
}

/**
 * Books the events of an account that the trading server has deleted, up to its last one: closing deals and cancelled
 * orders become facts before that of the deletion. Then removes what this service, finance and metrics know of the
 * account. Rejects where one step could not be done; all of them are then done again.
 */
export async function removeTraces({ book, traces, feed }: DeletionPorts, account: Account): Promise<void> {
  const { serverId, accountNumber } = account;
  await catchUp({ reader: book, feed }, account);
  faultPoint("account.deletion-booked");
  await book.deleteHistory(serverId, accountNumber);
  faultPoint("account.deletion-history");
  await traces.inFinance(serverId, accountNumber);
  faultPoint("account.deletion-finance");
  await traces.inMetrics(serverId, accountNumber);
  faultPoint("account.deletion-metrics");
}

/**
 * Takes accounts that the trading server has deleted as far as they get before their commands are final: marked
 * `deleting`, their last events booked, and their traces removed. For each, null or why it has to be done again.
 */
export async function completeDeletions(
  ports: DeletionPorts,
  accounts: readonly Account[],
): Promise<(string | null)[]> {
  const reasons: (string | null)[] = [];
  for (let from = 0; from < accounts.length; from += MAX_AT_ONCE) {
    const some = accounts.slice(from, from + MAX_AT_ONCE);
    reasons.push(...(await Promise.all(some.map((account) => completed(ports, account)))));
  }
  return reasons;
}

async function completed(ports: DeletionPorts, account: Account): Promise<string | null> {
  try {
    faultPoint("account.deletion-trading-server");
    await ports.book.markDeleting(account.id);
    faultPoint("account.deletion-marked");
    await removeTraces(ports, account);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
