/** Composes the booking of the history: queue, gaps and the source of missing events. */
import type { AccountRef } from "@kapi/contracts";
import type { CommandStore } from "@kapi/commands";
import type { Clock } from "@kapi/kernel";
import { isTransient } from "@kapi/postgres";
import type { Logger, Scope } from "@kapi/runtime";
import type { TradingServerClient } from "@kapi/trading-server";
import { BookingQueue, createEventHistory, startGapFiller } from "@kapi/trading-server/event-feed";

import type { FeedSource, HistoryReader } from "./domain/history-ports.ts";
import { createFeedSource } from "./outbound/http/feed-source.ts";
import { recordEvents } from "./outbound/postgres/account-events.ts";
import { createGapRepository } from "./outbound/postgres/gap-repository.ts";
import { createHistoryRepository } from "./outbound/postgres/history-repository.ts";
import { createHistoryReader } from "./outbound/postgres/history-reader.ts";

interface HistoryFeedOptions {
  readonly scope: Scope;
  readonly store: CommandStore;
  readonly client: TradingServerClient;
  /** The database's time. */
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The history, for reads, commands, deletions and the consumer of `trading.events`. */
export interface HistoryFeed {
  readonly queue: BookingQueue;
  readonly reader: HistoryReader;
  readonly feed: FeedSource;
}

/**
 * Creates the booking queue and starts the gap filler, without the consumer of `trading.events`.
 * Fresh reads (decisions, 4.11) book the events that they need.
 */
export async function startHistoryFeed({
  scope,
  store,
  client,
  clock,
  logger,
}: HistoryFeedOptions): Promise<HistoryFeed> {
  const queue: BookingQueue = new BookingQueue({
    repository: createHistoryRepository(store, recordEvents, clock),
    isTransient,
    onGaps: (accounts: readonly AccountRef[]) => filler.fill(accounts),
    onUnbookable: (account, error) => logger.error({ err: error, ...account }, "events of an account cannot be booked"),
  });
  const filler = await scope.start("gap filler", () =>
    startGapFiller({ gaps: createGapRepository(store.database), history: createEventHistory(client), queue, logger }),
  );
  return { queue, reader: createHistoryReader(store.database), feed: createFeedSource(client, queue) };
}
