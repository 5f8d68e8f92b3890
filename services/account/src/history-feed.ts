/**
 * The part of the composition root that books the history: the queue, the gaps, and where missing
 * events come from.
 */
import type { CommandStore } from "@kapi/commands";
import { isTransient } from "@kapi/postgres";
import type { Logger, Scope } from "@kapi/runtime";
import type { TradingServerClient } from "@kapi/trading-server";
import { type AccountName, BookingQueue, createEventHistory, startGapFiller } from "@kapi/trading-server/event-feed";

import type { FeedSource, HistoryReader } from "./domain/history-ports.ts";
import { createFeedSource } from "./outbound/http/feed-source.ts";
import { recordFacts } from "./outbound/postgres/account-facts.ts";
import { createFeedGaps } from "./outbound/postgres/feed-gaps.ts";
import { createHistoryBook } from "./outbound/postgres/history-book.ts";
import { createHistoryReader } from "./outbound/postgres/history-reader.ts";

export interface HistoryFeedOptions {
  readonly scope: Scope;
  readonly store: CommandStore;
  readonly client: TradingServerClient;
  readonly logger: Logger;
}

/** What reads and the consumer of `trading.events` need of the history. */
export interface HistoryFeed {
  readonly queue: BookingQueue;
  readonly reader: HistoryReader;
  readonly feed: FeedSource;
}

/**
 * Starts the history without the topic: gaps are filled, reads that must be fresh book what they
 * need.
 */
export async function startHistoryFeed({ scope, store, client, logger }: HistoryFeedOptions): Promise<HistoryFeed> {
  const queue: BookingQueue = new BookingQueue({
    book: createHistoryBook(store, recordFacts),
    isTransient,
    onGaps: (accounts: readonly AccountName[]) => filler.fill(accounts),
    onUnbookable: (account, error) => logger.error({ err: error, ...account }, "events of an account cannot be booked"),
  });
  const filler = await scope.start("gap filler", () =>
    startGapFiller({ gaps: createFeedGaps(store.database), history: createEventHistory(client), queue, logger }),
  );
  return { queue, reader: createHistoryReader(store.database), feed: createFeedSource(client, queue) };
}
