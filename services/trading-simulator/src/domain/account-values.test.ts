import { Valuation } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import {
  commissionMinor,
  marginLevelOf,
  marginMinor,
  nightlySwapMinor,
  profitMinor,
  toValuation,
  valueAccount,
} from "./account-values.ts";
import { order, testAccount, TestTradingContext } from "../../test/test-trading-context.ts";
import { placeOrder } from "./trading.ts";

const QUOTES = {
  EURUSD: { bid: 1.1, ask: 1.1001 },
  USDJPY: { bid: 149.9, ask: 150.1 },
  USDNGN: { bid: 1_499, ask: 1_501 },
};

describe("profit", () => {
  it("is the price difference times contract size and lots, for both sides", () => {
    const context = new TestTradingContext(QUOTES);
    const trade = { symbol: "EURUSD", volume: 50, openPrice: 1.1, closePrice: 1.105 };
    expect(profitMinor(context.prices, "USD", { ...trade, side: "buy" })).toBe(25_000);
    expect(profitMinor(context.prices, "USD", { ...trade, side: "sell" })).toBe(-25_000);
  });

  it("is converted from the quote currency at mid prices, into dollars and into naira", () => {
    const context = new TestTradingContext(QUOTES);
    const trade = { symbol: "USDJPY", side: "buy", volume: 100, openPrice: 150, closePrice: 151.5 } as const;
    // 1.5 yen on 100,000 dollars are 150,000 yen: 1,000 dollars, or 1,500,000 naira.
    expect(profitMinor(context.prices, "USD", trade)).toBe(100_000);
    expect(profitMinor(context.prices, "NGN", trade)).toBe(150_000_000);
  });
});

describe("margin", () => {
  it("is the value at the open price divided by the account's leverage", () => {
    const context = new TestTradingContext(QUOTES);
    const trade = { symbol: "EURUSD", volume: 100, openPrice: 1.1 };
    expect(marginMinor(context.prices, testAccount(0, { leverage: 100 }), trade)).toBe(110_000);
    expect(marginMinor(context.prices, testAccount(0, { leverage: 1 }), trade)).toBe(11_000_000);
  });

  it("uses at most the symbol's leverage", () => {
    const context = new TestTradingContext(QUOTES);
    const trade = { symbol: "BTCUSD", volume: 100, openPrice: 60_000 };
    expect(marginMinor(context.prices, testAccount(0, { leverage: 10_000 }), trade)).toBe(300_000);
  });

  it("has level 0 without used margin, else two decimals", () => {
    expect(marginLevelOf(12_345, 0)).toBe(0);
    expect(marginLevelOf(1_000, 3_000)).toBe(33.33);
    expect(marginLevelOf(-1_000, 3_000)).toBe(-33.33);
  });
});

describe("the cost of a trade", () => {
  it("has a commission per lot and execution, in the account's currency", () => {
    const context = new TestTradingContext(QUOTES);
    expect(commissionMinor(context.prices, "USD", { symbol: "EURUSD", volume: 50 })).toBe(-150);
    expect(commissionMinor(context.prices, "NGN", { symbol: "EURUSD", volume: 100 })).toBe(-450_000);
  });

  it("has a swap per night, calculated from the points of a long position and its volume", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(10_000_000);
    const { position } = placeOrder(context, account, order({ volume: 200 }));
    // -6.5 points of 0.00001 on 200,000 are -13 dollars.
    expect(position === null ? null : nightlySwapMinor(context.prices, "USD", position)).toBe(-1_300);
  });
});

describe("account values", () => {
  it("add up: equity = balance + open profit and swap, free margin = equity - margin", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(1_000_000);
    const { position } = placeOrder(context, account, order());
    if (position !== null) position.swapMinor = -250;
    context.set("EURUSD", { bid: 1.1051, ask: 1.1052 });
    expect(valueAccount(context.prices, account)).toEqual({
      balanceMinor: 999_700,
      equityMinor: 999_700 + 50_000 - 250,
      marginMinor: 110_010,
      freeMarginMinor: 999_700 + 50_000 - 250 - 110_010,
      marginLevel: 953.96,
      unrealizedProfitMinor: 49_750,
      openPositionCount: 1,
    });
  });
});

describe("a published valuation", () => {
  it("has every field of the contract, in its order", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(100_000);
    const valuation = toValuation(account, valueAccount(context.prices, account), "2026-01-01T00:00:00.000Z");
    expect(Object.keys(valuation)).toEqual(Object.keys(Valuation.shape));
  });
});
