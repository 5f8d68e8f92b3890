import { describe, expect, it } from "vitest";

import { commissionMinor, marginLevelOf, marginMinor, nightlySwapMinor, profitMinor, reckon } from "./reckoning.ts";
import { order, testAccount, TestDesk } from "../../test/trading-desk.ts";
import { placeOrder } from "./trading.ts";

const QUOTES = {
  EURUSD: { bid: 1.1, ask: 1.1001 },
  USDJPY: { bid: 149.9, ask: 150.1 },
  USDNGN: { bid: 1_499, ask: 1_501 },
};

describe("profit", () => {
  it("is the price's way times contract size and lots, whichever side", () => {
    const desk = new TestDesk(QUOTES);
    const trade = { symbol: "EURUSD", volume: 50, openPrice: 1.1, closePrice: 1.105 };
    expect(profitMinor(desk.prices, "USD", { ...trade, side: "buy" })).toBe(25_000);
    expect(profitMinor(desk.prices, "USD", { ...trade, side: "sell" })).toBe(-25_000);
  });

  it("is converted from the quote currency at mid prices, into dollars and into naira", () => {
    const desk = new TestDesk(QUOTES);
    const trade = { symbol: "USDJPY", side: "buy", volume: 100, openPrice: 150, closePrice: 151.5 } as const;
    // 1.5 yen on 100,000 dollars are 150,000 yen: 1,000 dollars, or 1,500,000 naira.
    expect(profitMinor(desk.prices, "USD", trade)).toBe(100_000);
    expect(profitMinor(desk.prices, "NGN", trade)).toBe(150_000_000);
  });
});

describe("margin", () => {
  it("is the worth at the open price divided by the account's leverage", () => {
    const desk = new TestDesk(QUOTES);
    const trade = { symbol: "EURUSD", volume: 100, openPrice: 1.1 };
    expect(marginMinor(desk.prices, testAccount(0, { leverage: 100 }), trade)).toBe(110_000);
    expect(marginMinor(desk.prices, testAccount(0, { leverage: 1 }), trade)).toBe(11_000_000);
  });

  it("never takes more leverage than the symbol grants", () => {
    const desk = new TestDesk(QUOTES);
    const trade = { symbol: "BTCUSD", volume: 100, openPrice: 60_000 };
    expect(marginMinor(desk.prices, testAccount(0, { leverage: 10_000 }), trade)).toBe(300_000);
  });

  it("has level 0 with no margin in use, and two decimals else", () => {
    expect(marginLevelOf(12_345, 0)).toBe(0);
    expect(marginLevelOf(1_000, 3_000)).toBe(33.33);
    expect(marginLevelOf(-1_000, 3_000)).toBe(-33.33);
  });
});

describe("commission and swap", () => {
  it("charges commission per lot and execution, in the account's currency", () => {
    const desk = new TestDesk(QUOTES);
    expect(commissionMinor(desk.prices, "USD", { symbol: "EURUSD", volume: 50 })).toBe(-150);
    expect(commissionMinor(desk.prices, "NGN", { symbol: "EURUSD", volume: 100 })).toBe(-450_000);
  });

  it("books swap by side and volume", () => {
    const desk = new TestDesk(QUOTES);
    const account = testAccount(10_000_000);
    const { position } = placeOrder(desk, account, order({ volume: 200 }));
    // -6.5 points of 0.00001 on 200,000 are -13 dollars.
    expect(position === null ? null : nightlySwapMinor(desk.prices, "USD", position)).toBe(-1_300);
  });
});

describe("an account's figures", () => {
  it("add up: equity = balance + open profit and swap, free margin = equity - margin", () => {
    const desk = new TestDesk(QUOTES);
    const account = testAccount(1_000_000);
    const { position } = placeOrder(desk, account, order());
    if (position !== null) position.swapMinor = -250;
    desk.set("EURUSD", { bid: 1.1051, ask: 1.1052 });
    expect(reckon(desk.prices, account)).toEqual({
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
