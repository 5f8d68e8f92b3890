import type { TradingServerClient } from "../client.ts";

import type { EventHistory } from "./account-feed.ts";

/** Reads missing events from the trading server. */
export function createEventHistory(client: Pick<TradingServerClient, "history">): EventHistory {
  return {
    since: async ({ serverId, accountNumber }, sequence, limit) => {
      const { events } = await client.history(serverId, accountNumber, sequence, limit);
      return events;
    },
  };
}
