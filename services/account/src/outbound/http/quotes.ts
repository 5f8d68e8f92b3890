import type { TradingServerClient } from "@kapi/trading-server";

import type { Quotes } from "../../domain/ports.ts";

/** Reads quotes from the trading server. */
export function createQuotes(client: TradingServerClient): Quotes {
  return { at: (serverId, symbols, at) => client.quotes(serverId, symbols, at) };
}
