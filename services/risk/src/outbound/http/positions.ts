import {
  ACCOUNT_ROUTES,
  type ErrorCode,
  type EvidencePosition,
  MAX_QUOTE_SYMBOLS,
  type Quote,
  QuoteSymbol,
} from "@kapi/contracts";
import { decimalText } from "@kapi/evidence";
import { callRoute, DependencyError, type InternalClient } from "@kapi/http";

import type { ReadPositions } from "../../domain/ports.ts";

const NOT_FOUND: ErrorCode = "ACCOUNT_NOT_FOUND";
/** Decimals of a volume in lots. */
const VOLUME_DECIMALS = 8;

/**
 * Reads the positions that were open at a time, with their prices then, from the account service.
 * Null if the service does not know the account. The price of a symbol without a quote is null.
 * Without `needsPrices`, prices that cannot be read are null too.
 */
export function createPositionReader(account: InternalClient): ReadPositions {
  return async ({ serverId, accountNumber }, at, { needsPrices }) => {
    const open = await openPositions(account, { serverId, accountNumber }, at);
    if (open === null) return null;
    const { positions, positionCount } = open;
    const symbols = new Set(positions.map(({ symbol }) => symbol));
    const quotes = await quotesOf(account, serverId, symbols, at).catch((error: unknown) => {
      if (needsPrices) throw error;
      return new Map<string, Quote>();
    });
    const valued = positions.map(({ id, symbol, side, volume, closedVolume, openPrice }): EvidencePosition => {
      const quote = quotes.get(symbol);
      // A position is valued at the price at which it can be closed.
      const price = quote === undefined ? null : side === "buy" ? quote.bid : quote.ask;
      return {
        positionId: id,
        symbol,
        side,
        volume: decimalText(Number((volume - closedVolume).toFixed(VOLUME_DECIMALS))),
        openPrice: decimalText(openPrice),
        price: price === null ? null : decimalText(price),
        profit: null,
      };
    });
    return { positions: valued, isCut: positionCount > positions.length };
  };
}

async function openPositions(account: InternalClient, params: { serverId: string; accountNumber: string }, at: string) {
  try {
    return await callRoute(account, ACCOUNT_ROUTES.readOpenPositions, { params, query: { at } });
  } catch (error) {
    if (error instanceof DependencyError && error.code === NOT_FOUND) return null;
    throw error;
  }
}

/** The last quotes at or before a time, by symbol. Symbols without a quote are left out. */
async function quotesOf(
  account: InternalClient,
  serverId: string,
  symbols: ReadonlySet<string>,
  at: string,
): Promise<ReadonlyMap<string, Quote>> {
  const known = [...symbols].filter((symbol) => QuoteSymbol.safeParse(symbol).success);
  const quotes: Quote[] = [];
  for (let from = 0; from < known.length; from += MAX_QUOTE_SYMBOLS) {
    const query = { symbols: known.slice(from, from + MAX_QUOTE_SYMBOLS).join(","), at };
    const answer = await callRoute(account, ACCOUNT_ROUTES.readQuotes, { params: { serverId }, query });
    quotes.push(...(answer.quotes ?? []));
  }
  return new Map(quotes.map((quote) => [quote.symbol, quote]));
}
