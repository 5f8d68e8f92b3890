/**
 * Books one account's events up to the trading server's current sequence, for a fresh read. Events
 * that the topic has not delivered are read from the trading server.
 */
import type { AccountRef } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import type { TradingServerClient } from "@kapi/trading-server";

import { BehindTradingServer } from "../domain/errors.ts";
import type { TransactionReader } from "../domain/transaction-reads.ts";

/** Maximum wait of a read (decisions, 4.11). */
const CATCH_UP_DEADLINE_MS = 2_000;
/** Pause after a page that booked nothing: perhaps another process books the same account. */
const RETRY_DELAY_MS = 50;

interface CatchUpOptions {
  readonly client: Pick<TradingServerClient, "eventSequence">;
  readonly reader: Pick<TransactionReader, "bookedSoFar">;
  /** Books the next events of the trading server's history, after `bookedSequence`. */
  readonly bookNextPage: (account: AccountRef, bookedSequence: number) => Promise<void>;
}

/**
 * Resolves when the account is booked up to the trading server's sequence at the start of the call.
 * Also resolves if the account is marked deleted, or if the account has no booked events and the
 * server does not know the account. Rejects with {@link BehindTradingServer} after 2 s, or if the
 * server does not know an account with booked events. Rejects with the client's error if the server
 * does not answer, or if too many calls of the organization wait for the server.
 */
export async function catchUp(options: CatchUpOptions, account: AccountRef): Promise<void> {
  const end = new AbortController();
  const work = bookWhatIsMissing(options, account, end.signal);
  const deadline = delay(CATCH_UP_DEADLINE_MS, end.signal).then(() => {
    throw new BehindTradingServer(
      `events of account ${account.accountNumber} are not booked up to the sequence of the trading server`,
    );
  });
  try {
    await Promise.race([work, deadline]);
  } finally {
    end.abort();
  }
}

async function bookWhatIsMissing(options: CatchUpOptions, account: AccountRef, signal: AbortSignal): Promise<void> {
  const { client, reader, bookNextPage } = options;
  // Read before the server is asked. In the other order, events of an account that is created
  // between both calls could be booked, although the server did not know the account.
  const first = await reader.bookedSoFar(account);
  if (first.standing === "deleted") return;
  let { lastSequence } = first;
  const wanted = await client.eventSequence(account.serverId, account.accountNumber);
  if (wanted === null) {
    if (lastSequence === 0) return;
    // A 404 of a proxy looks like that of a trading server without the account.
    throw new BehindTradingServer(
      `the trading server does not know account ${account.accountNumber}, which has booked events`,
    );
  }
  while (lastSequence < wanted && !signal.aborted) {
    await bookNextPage(account, lastSequence);
    const booked = await reader.bookedSoFar(account);
    if (booked.lastSequence === lastSequence) await delay(RETRY_DELAY_MS, signal);
    ({ lastSequence } = booked);
  }
}
