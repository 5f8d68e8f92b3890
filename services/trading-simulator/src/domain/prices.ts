import { CONVERSION_SYMBOLS, type CurrencyCode } from "./symbols.ts";

/** What a symbol can be sold (bid) and bought (ask) for. */
export interface Quote {
  readonly bid: number;
  readonly ask: number;
}

export type Side = "buy" | "sell";

/** The prices at one moment. */
export interface Prices {
  /** The quote of a symbol that exists. */
  quote(symbol: string): Quote;
}

/** What opening on `side` costs now: a buyer pays the ask. */
export function openPriceOf(quote: Quote, side: Side): number {
  return side === "buy" ? quote.ask : quote.bid;
}

/** What closing a position of `side` gives now: what was bought is sold at the bid. */
export function closePriceOf(quote: Quote, side: Side): number {
  return side === "buy" ? quote.bid : quote.ask;
}

export function oppositeOf(side: Side): Side {
  return side === "buy" ? "sell" : "buy";
}

/** Units of `to` for one unit of `from`, at mid prices, through the US dollar. */
export function conversionRate(prices: Prices, from: CurrencyCode, to: CurrencyCode): number {
  if (from === to) return 1;
  return perDollar(prices, to) / perDollar(prices, from);
}

/** The symbols whose prices the conversion between two currencies depends on. */
export function conversionSymbols(from: CurrencyCode, to: CurrencyCode): string[] {
  if (from === to) return [];
  return [from, to].flatMap((currency) => (currency === "USD" ? [] : [CONVERSION_SYMBOLS[currency]]));
}

function perDollar(prices: Prices, currency: CurrencyCode): number {
  if (currency === "USD") return 1;
  const { bid, ask } = prices.quote(CONVERSION_SYMBOLS[currency]);
  return (bid + ask) / 2;
}
