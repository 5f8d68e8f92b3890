import { CONVERSION_SYMBOLS, type CurrencyCode } from "./symbols.ts";

/** Prices for selling (bid) and buying (ask). */
export interface Quote {
  readonly bid: number;
  readonly ask: number;
}

export type Side = "buy" | "sell";

/** Prices at one moment. */
export interface Prices {
  /** The symbol must exist. */
  quote(symbol: string): Quote;
  /** Whether the market of the symbol is open. The symbol must exist. */
  isOpen(symbol: string): boolean;
}

/** Price of opening on `side`: a buyer pays the ask. */
export function openPriceOf(quote: Quote, side: Side): number {
  return side === "buy" ? quote.ask : quote.bid;
}

/** Price of closing a position of `side`: a long position sells at the bid. */
export function closePriceOf(quote: Quote, side: Side): number {
  return side === "buy" ? quote.bid : quote.ask;
}

/** The side of the deal that closes a position of `side`. */
export function oppositeOf(side: Side): Side {
  return side === "buy" ? "sell" : "buy";
}

/** Units of `to` per unit of `from`, at mid prices, through the US dollar. */
export function conversionRate(prices: Prices, from: CurrencyCode, to: CurrencyCode): number {
  if (from === to) return 1;
  return perDollar(prices, to) / perDollar(prices, from);
}

/** Symbols whose prices the conversion uses. */
export function conversionSymbols(from: CurrencyCode, to: CurrencyCode): string[] {
  if (from === to) return [];
  return [from, to].flatMap((currency) => (currency === "USD" ? [] : [CONVERSION_SYMBOLS[currency]]));
}

function perDollar(prices: Prices, currency: CurrencyCode): number {
  if (currency === "USD") return 1;
  const { bid, ask } = prices.quote(CONVERSION_SYMBOLS[currency]);
  return (bid + ask) / 2;
}
