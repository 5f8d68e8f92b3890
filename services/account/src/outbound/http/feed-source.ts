import type { TradingServerClient } from "@kapi/trading-server";
import { bookNextPage, type BookingQueue, createEventHistory } from "@kapi/trading-server/event-feed";

import type { FeedSource } from "../../domain/history-ports.ts";

/**
 * Reads missing events from the trading server, and books them through `queue`, which also books
 * the events of the topic.
 */
export function createFeedSource(
  client: TradingServerClient,
  queue: Pick<BookingQueue, "book" | "forget">,
): FeedSource {
  const history = createEventHistory(client);
  return {
    lastSequence: async ({ serverId, accountNumber }) => (await client.eventSequence(serverId, accountNumber)) ?? 0,
    book: async (event, traceparent) => {
      await queue.book(event, traceparent);
    },
    bookNextPage: (account, bookedSequence) => bookNextPage({ history, queue }, account, bookedSequence),
  };
}
