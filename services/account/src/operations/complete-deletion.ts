/**
 * The last steps of every deletion, after the trading server has deleted the account. The account's
 * events are booked and published. Then its history and its data in metrics are deleted, and its
 * transactions in finance are hidden. Each step may be repeated, also concurrently.
 */
import { faultPoint } from "@kapi/runtime";

import type { Account } from "../domain/account.ts";
import type { FeedSource } from "../domain/history-ports.ts";
import type { ExternalAccountData, DeletionRepository } from "../domain/ports.ts";
import { catchUp } from "./catch-up.ts";

/**
 * Maximum number of concurrent deletions of a batch. After this many failures the batch only marks
 * the remaining accounts `deleting`.
 */
const MAX_CONCURRENT_DELETIONS = 8;
/** The reason to retry a command whose deletion or catch-up was not tried in its batch. */
export const NOT_TRIED = "not tried, because other commands of its batch failed";
/**
 * Maximum time to book the last events in an immediate or a resumed deletion. It is enough for
 * thousands of closed positions, and less than the gateway's deadline. The queued deletion closes
 * no positions, so the default maximum of {@link catchUp} is enough for it.
 */
const MAX_BOOKING_MS = 8_000;
/**
 * After this many attempts in a row that booked nothing, a resumed deletion continues without the
 * missing events. The attempts take about 5 minutes together.
 */
const MAX_STALLED_ATTEMPTS = 5;

/**
 * What all deletions share: immediate, queued, and resumed ones. The service itself resumes an
 * unfinished deletion.
 */
export interface DeletionPorts {
  readonly repository: DeletionRepository;
  /** Hides or deletes the account's data in finance and metrics, before the deletion completes. */
  readonly externalData: ExternalAccountData;
  /** The source of the account's last events. */
  readonly feed: FeedSource;
}

/**
 * Books the events of an account up to its last one on the trading server, so that closing deals
 * and cancelled orders are published before the deletion. Rejects as {@link catchUp} does.
 */
export async function bookLastEvents({ repository, feed }: DeletionPorts, account: Account): Promise<void> {
  await catchUp({ reader: repository, feed }, account, MAX_BOOKING_MS);
  faultPoint("account.deletion-booked");
}

/**
 * {@link bookLastEvents} for a resumed deletion. After {@link MAX_STALLED_ATTEMPTS} attempts in a
 * row that booked nothing, skips the remaining events, so that every deletion completes. Then calls
 * `onSkipped` with the last error.
 */
export async function bookOrSkipLastEvents(
  ports: DeletionPorts,
  account: Account,
  onSkipped: (error: unknown) => void,
): Promise<void> {
  const bookedBefore = await ports.repository.bookedSequence(account);
  try {
    await bookLastEvents(ports, account);
  } catch (error) {
    if (bookedBefore === null) throw error;
    const stalls = await ports.repository.noteStall(account.id, bookedBefore);
    if (stalls < MAX_STALLED_ATTEMPTS) throw error;
    await ports.repository.skipEvents(account.id);
    onSkipped(error);
  }
}

/**
 * Deletes the history of an account, hides its transactions in finance and deletes its data in
 * metrics, after its last events are booked. If a step fails, all steps are repeated.
 */
export async function removeAccountData({ repository, externalData }: DeletionPorts, account: Account): Promise<void> {
  const { serverId, accountNumber } = account;
  await repository.deleteHistory(serverId, accountNumber);
  faultPoint("account.deletion-history");
  await externalData.deleteFromFinance(serverId, accountNumber);
  faultPoint("account.deletion-finance");
  await externalData.deleteFromMetrics(serverId, accountNumber);
  faultPoint("account.deletion-metrics");
}

/**
 * Carries out all steps of a deletion before the final state of its command, for accounts that the
 * trading server has deleted. Returns one result for each account, in order: null if all steps are
 * done, else the reason why its command is retried. The service also resumes such a deletion by
 * itself.
 */
export async function completeDeletions(
  ports: DeletionPorts,
  accounts: readonly Account[],
): Promise<(string | null)[]> {
  const reasons: (string | null)[] = [];
  for (let from = 0; from < accounts.length; from += MAX_CONCURRENT_DELETIONS) {
    const some = accounts.slice(from, from + MAX_CONCURRENT_DELETIONS);
    const failed = reasons.filter((reason) => reason !== null).length;
    const tries = failed < MAX_CONCURRENT_DELETIONS;
    reasons.push(...(await Promise.all(some.map((account) => completed(ports, account, tries)))));
  }
  return reasons;
}

async function completed(ports: DeletionPorts, account: Account, tries: boolean): Promise<string | null> {
  try {
    faultPoint("account.deletion-trading-server");
    await ports.repository.markDeleting(account.id);
    faultPoint("account.deletion-marked");
    if (!tries) return NOT_TRIED;
    await catchUp({ reader: ports.repository, feed: ports.feed }, account);
    faultPoint("account.deletion-booked");
    await removeAccountData(ports, account);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
