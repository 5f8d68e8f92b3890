import { describe, expect, it } from "vitest";

import { testAccount, TestTradingContext } from "../../test/test-trading-context.ts";
import type { AutoTrader } from "./account.ts";
import { autoTrade } from "./auto-trader.ts";
import { randomState } from "./random-walk.ts";

const DECISIONS = 200;

describe("automatic trading", () => {
  it("opens and closes positions only while their market is open", () => {
    const context = new TestTradingContext();
    const account = testAccount(100_000_000);
    const trader: AutoTrader = {
      ...randomState("test", "auto-trader"),
      symbols: ["EURUSD", "GBPUSD"],
      volume: 10,
      maxPositions: 6,
      everyTicks: 1,
      ticksLeft: 1,
    };
    const symbolsOfDeals = (): Set<string> => {
      for (let decision = 0; decision < DECISIONS; decision += 1) autoTrade(context, account, trader);
      const deals = context.events.splice(0).flatMap((event) => (event.type === "deal.executed" ? [event.deal] : []));
      return new Set(deals.map(({ symbol }) => symbol));
    };
    expect(symbolsOfDeals()).toEqual(new Set(["EURUSD", "GBPUSD"]));
    context.prices.setOpen("GBPUSD", false);
    expect(symbolsOfDeals()).toEqual(new Set(["EURUSD"]));
    context.prices.setOpen("EURUSD", false);
    expect(symbolsOfDeals()).toEqual(new Set());
  });
});
