import { z } from "zod";

import { DateTime } from "../values.ts";

/** Maximum number of symbols in one request of quotes. */
export const MAX_QUOTE_SYMBOLS = 50;
/**
 * Maximum length of a symbol in a request of quotes. With {@link MAX_QUOTE_SYMBOLS} it keeps the
 * encoded query below 10 KB: HTTP servers limit the length of an address.
 */
export const MAX_SYMBOL_LENGTH = 64;

/**
 * Minimum time, in milliseconds, for which a trading server keeps a quote after a newer quote of
 * the same symbol has replaced it. kapi asks for the quotes of a breach within this time.
 */
export const MIN_QUOTE_RETENTION_MS = 5 * 60_000;

/**
 * A symbol that quotes can be requested for: visible ASCII characters and spaces, without a comma.
 * kapi requests no quotes of other symbols.
 */
export const QuoteSymbol = z
  .string()
  .min(1, "must be a symbol: the list has an empty item")
  .max(MAX_SYMBOL_LENGTH)
  .regex(/^[\x20-\x2b\x2d-\x7e]*$/, "must have only visible ASCII characters and spaces, without a comma");

/** The quote of a symbol. Prices in its quote currency. */
export const Quote = z.object({
  symbol: QuoteSymbol,
  bid: z.number(),
  ask: z.number(),
  /** Since when the quote is valid, by the clock of the trading server. */
  measuredAt: z.iso.datetime(),
});
export type Quote = z.infer<typeof Quote>;

/** Query of a read of quotes. Repeated symbols count once. `at` is cut to milliseconds. */
export const QuotesQuery = z.object({
  /** Symbols in the spelling of the trading server, separated by commas. */
  symbols: z
    .string()
    .transform((text) => [...new Set(text.split(","))])
    .pipe(z.array(QuoteSymbol).max(MAX_QUOTE_SYMBOLS)),
  /** The last quote at or before this time. */
  at: DateTime,
});
