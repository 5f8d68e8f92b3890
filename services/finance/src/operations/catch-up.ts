/**
 * Brings the ledger of one account up to what its trading server has done by now, for a read that must not be stale: what
 * the topic has not brought yet is fetched and booked here.
 */
import type { TradingEvent } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import type { TradingServerClient } from "@kapi/trading-server";

import { BehindTradingServer } from "../domain/errors.ts";
import type { AccountName, Booking } from "../domain/ledger.ts";
import type { EventHistory } from "../domain/ports.ts";
import type { TransactionReader } from "../domain/transaction-reads.ts";

/** How long a read waits for the ledger (decisions, 4.11). */
const CATCH_UP_DEADLINE_MS = 2_000;
/** Events asked for at a time. */
const PAGE_EVENTS = 500;
/** Pause where events could not be booked, because another process is at the same account. */
const RETRY_DELAY_MS = 50;

export interface CatchUpOptions {
  readonly client: Pick<TradingServerClient, "eventSequence">;
  readonly history: EventHistory;
  readonly reader: Pick<TransactionReader, "bookedSoFar">;
  readonly book: (event: TradingEvent) => Promise<Booking>;
}

/**
 * Resolves when the account is booked up to the sequence that its trading server told after the call. An account that the
 * server does not know (yet) has nothing to book. Rejects with {@link BehindTradingServer} after 2 s, and with the
 * client's error where the server gives no answer.
 */
export async function catchUp(options: CatchUpOptions, account: AccountName): Promise<void> {
  const end = new AbortController();
  const work = bookWhatIsMissing(options, account, end.signal);
  const deadline = delay(CATCH_UP_DEADLINE_MS, end.signal).then(() => {
    throw new BehindTradingServer(`account ${account.accountNumber} is not booked up to its trading server`);
  });
  try {
    await Promise.race([work, deadline]);
  } finally {
    end.abort();
  }
}

async function bookWhatIsMissing(options: CatchUpOptions, account: AccountName, signal: AbortSignal): Promise<void> {
  const { client, history, reader, book } = options;
  const wanted = await client.eventSequence(account.serverId, account.accountNumber);
  if (wanted === null) return;
  while (!signal.aborted) {
    const { lastSequence } = await reader.bookedSoFar(account);
    if (lastSequence >= wanted) return;
    const events = await history.since(account, lastSequence, PAGE_EVENTS);
    const bookings = await Promise.all(events.map(book));
    if (!bookings.some((booking) => booking !== "gap")) await delay(RETRY_DELAY_MS, signal);
  }
}
