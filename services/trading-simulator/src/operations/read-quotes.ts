import type { Quote } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";

import type { TradingServer } from "./server.ts";

/** For each symbol the last quote at or before `atMs`; a symbol without one is left out. */
export function readQuotes(server: TradingServer, symbols: readonly string[], atMs: number): Quote[] {
  return symbols.flatMap((symbol) => {
    const quote = server.quotes.get(symbol)?.at(atMs) ?? null;
    return quote === null ? [] : [{ symbol, bid: quote.bid, ask: quote.ask, measuredAt: toIso(quote.atMs) }];
  });
}
