import { describe, expect, it } from "vitest";

import { MAX_QUOTE_SYMBOLS, MAX_SYMBOL_LENGTH, QuotesQuery } from "./quote.ts";

const AT = "2026-03-02T12:00:00.000Z";

describe("the query of quotes", () => {
  it("has symbols in the spelling of the trading server, each once, and a time in UTC", () => {
    const query = { symbols: "EURUSD,EUR/USD.m,S&P 500,EURUSD", at: "2026-03-02T13:00:00+01:00" };
    expect(QuotesQuery.parse(query)).toEqual({ symbols: ["EURUSD", "EUR/USD.m", "S&P 500"], at: AT });
  });

  it("has up to 50 symbols of up to 64 characters", () => {
    const symbols = Array.from({ length: MAX_QUOTE_SYMBOLS }, (_, n) => String(n).padStart(MAX_SYMBOL_LENGTH, "#"));
    expect(QuotesQuery.parse({ symbols: symbols.join(","), at: AT }).symbols).toEqual(symbols);
  });

  it.each([
    ["no symbol", ""],
    ["an empty item", "EURUSD,"],
    ["51 symbols", Array.from({ length: MAX_QUOTE_SYMBOLS + 1 }, (_, n) => `S${n}`).join(",")],
    ["65 characters", "S".repeat(MAX_SYMBOL_LENGTH + 1)],
    ["a control character", "EUR\nUSD"],
    ["a character beyond ASCII", "€USD"],
    ["a repeated parameter", ["EURUSD", "XAUUSD"]],
  ])("is rejected with %s", (_what, symbols) => {
    expect(QuotesQuery.safeParse({ symbols, at: AT }).error?.issues[0]?.path[0]).toBe("symbols");
  });
});
