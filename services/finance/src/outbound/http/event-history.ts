import type { TradingServerClient } from "@kapi/trading-server";

import type { EventHistory } from "../../domain/ports.ts";

/** Missing events come from the trading server itself. */
export function createEventHistory(client: TradingServerClient): EventHistory {
  return {
    since: async ({ serverId, accountNumber }, sequence, limit) => {
      const { events } = await client.history(serverId, accountNumber, sequence, limit);
      return events;
    },
  };
}
