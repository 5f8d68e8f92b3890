import { TradingEvent } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { applyPrices, bookNightlySwap } from "./market-effects.ts";
import { checkOrder } from "./order-checks.ts";
import { order, testAccount, TestTradingContext } from "../../test/test-trading-context.ts";
import { closePosition, type OrderResult, placeOrder } from "./trading.ts";

const EURUSD = new Set(["EURUSD"]);
const QUOTES = { EURUSD: { bid: 1.1, ask: 1.1001 } };

function opened(result: OrderResult) {
  if (result.position === null) throw new Error("no position was opened");
  return result.position;
}

describe("a market order", () => {
  it("opens at the ask, books commission with the deal, and emits order, deal and position in this order", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(1_000_000);
    placeOrder(context, account, order());
    expect(context.events.map((event) => TradingEvent.parse(event).type)).toEqual([
      "order.executed",
      "deal.executed",
      "position.opened",
    ]);
    expect(context.events.map((event) => event.sequence)).toEqual([1, 2, 3]);
    expect(context.events[1]).toMatchObject({
      balanceMinor: 999_700,
      openPositionCount: 0,
      deal: { kind: "entry", price: 1.1001, commissionMinor: -300, realizedPnlMinor: 0 },
    });
    expect(context.events[2]).toMatchObject({ openPositionCount: 1, position: { openPrice: 1.1001, volume: 1 } });
  });

  it("is rejected, with an event and nothing else, when free margin does not cover margin and commission", () => {
    const context = new TestTradingContext(QUOTES);
    const needed = 110_010 + 300;
    const poor = testAccount(needed - 1);
    expect(placeOrder(context, poor, order()).order).toMatchObject({
      status: "rejected",
      reason: "INSUFFICIENT_MARGIN",
    });
    expect(context.takeTypes()).toEqual(["order.rejected"]);
    expect(poor.balanceMinor).toBe(needed - 1);
    expect(placeOrder(context, testAccount(needed), order()).order.status).toBe("executed");
  });

  it("is rejected for an inactive account, an unknown symbol, an invalid volume, or stops on the wrong side", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(1_000_000);
    const codeOf = (request: ReturnType<typeof order>) => checkOrder(context.prices, account, request)?.code;
    expect(codeOf(order())).toBeUndefined();
    expect(codeOf(order({ symbol: "NOPE" }))).toBe("UNKNOWN_SYMBOL");
    expect(codeOf(order({ volume: 0 }))).toBe("INVALID_VOLUME");
    expect(codeOf(order({ stopLoss: 1.2 }))).toBe("INVALID_STOPS");
    expect(codeOf(order({ takeProfit: 1.05 }))).toBe("INVALID_STOPS");
    account.status = "close_only";
    expect(codeOf(order())).toBe("ACCOUNT_CLOSE_ONLY");
    expect(codeOf(order({ orderType: "limit", price: 1 }))).toBe("ACCOUNT_CLOSE_ONLY");
    account.status = "disabled";
    expect(codeOf(order())).toBe("ACCOUNT_DISABLED");
    account.status = "archived";
    expect(codeOf(order())).toBe("ACCOUNT_ARCHIVED");
  });
});

describe("closing a position", () => {
  it("makes a deal for every partial close, and splits the swap exactly", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(10_000_000);
    const position = opened(placeOrder(context, account, order({ volume: 100 })));
    position.swapMinor = -100;
    context.set("EURUSD", { bid: 1.1101, ask: 1.1102 });
    context.takeTypes();
    for (const volume of [33, 33, 34]) {
      context.nowMs += 1_000;
      closePosition(context, account, position, volume, null);
    }
    const deals = context.events.flatMap((event) => (event.type === "deal.executed" ? [event.deal] : []));
    expect(deals.map((deal) => deal.kind)).toEqual(["partial_close", "partial_close", "exit"]);
    expect(new Set(deals.map((deal) => deal.executedAt)).size).toBe(3);
    expect(deals.map((deal) => deal.swapMinor)).toEqual([-33, -33, -34]);
    expect(deals.map((deal) => deal.realizedPnlMinor)).toEqual([33_000, 33_000, 34_000]);
    const closed = context.events.at(-1);
    expect(closed).toMatchObject({ type: "position.closed", openPositionCount: 0, position: { volume: 0.34 } });
    expect(closed?.type === "position.closed" ? closed.dealIds.length : 0).toBe(4);
    expect(account.balanceMinor).toBe(10_000_000 - 300 + 100_000 - 99 - 99 - 102 - 100);
  });
});

describe("pending orders and stops", () => {
  it("execute at the current price when triggered", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(1_000_000);
    placeOrder(context, account, order({ orderType: "limit", price: 1.09, stopLoss: 1.08, takeProfit: 1.12 }));
    placeOrder(context, account, order({ orderType: "stop", price: 1.2 }));
    context.set("EURUSD", { bid: 1.0901, ask: 1.0902 });
    applyPrices(context, account, EURUSD);
    expect(account.orders.size).toBe(2);
    context.set("EURUSD", { bid: 1.0888, ask: 1.0889 });
    applyPrices(context, account, EURUSD);
    expect([...account.positions.values()].map((position) => position.openPrice)).toEqual([1.0889]);
    context.set("EURUSD", { bid: 1.1203, ask: 1.1204 });
    applyPrices(context, account, EURUSD);
    expect(account.positions.size).toBe(0);
    expect(context.events.at(-3)).toMatchObject({ type: "order.executed", order: { reason: "take_profit" } });
    context.set("EURUSD", { bid: 1.2005, ask: 1.2006 });
    applyPrices(context, account, EURUSD);
    expect([...account.positions.values()].map((position) => position.openPrice)).toEqual([1.2006]);
  });

  it("are cancelled instead of executed on a disabled account", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(1_000_000);
    placeOrder(context, account, order({ orderType: "limit", price: 1.09 }));
    account.status = "disabled";
    context.set("EURUSD", { bid: 1.08, ask: 1.0801 });
    applyPrices(context, account, EURUSD);
    expect(context.takeTypes()).toEqual(["order.placed", "order.cancelled"]);
  });
});

describe("margin call and stop-out", () => {
  it("call once at a margin level below 100 %, and again only after a recovery", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(150_000);
    placeOrder(context, account, order());
    context.takeTypes();
    const at = (bid: number): string[] => {
      context.set("EURUSD", { bid, ask: bid + 0.0001 });
      applyPrices(context, account, EURUSD);
      return context.takeTypes();
    };
    expect(at(1.0955)).toEqual(["margin.call"]);
    expect(at(1.0954)).toEqual([]);
    expect(at(1.1)).toEqual([]);
    expect(at(1.0955)).toEqual(["margin.call"]);
  });

  it("close the largest losses first at a margin level of 50 % or less, only until the level is above 50 %", () => {
    const context = new TestTradingContext({ ...QUOTES, GBPUSD: { bid: 1.25, ask: 1.25 } });
    const account = testAccount(300_000);
    const small = opened(placeOrder(context, account, order({ volume: 100 })));
    const large = opened(placeOrder(context, account, order({ symbol: "GBPUSD", volume: 100 })));
    context.takeTypes();
    context.set("GBPUSD", { bid: 1.2305, ask: 1.2305 });
    applyPrices(context, account, new Set(["GBPUSD"]));
    expect([...account.positions.keys()]).toEqual([small.id]);
    expect(context.takeTypes()).toEqual([
      "margin.call",
      "margin.stop_out",
      "order.executed",
      "deal.executed",
      "position.closed",
    ]);
    expect(account.positions.has(large.id)).toBe(false);
  });

  it("can leave a negative balance after a price gap", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(150_000);
    placeOrder(context, account, order());
    context.set("EURUSD", { bid: 1.05, ask: 1.0501 });
    applyPrices(context, account, EURUSD);
    expect(account.positions.size).toBe(0);
    expect(account.balanceMinor).toBe(150_000 - 300 - 501_000 - 300);
  });
});

describe("the nightly swap", () => {
  it("is booked on the position, and realized by the closing deal", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(1_000_000);
    const position = opened(placeOrder(context, account, order()));
    const before = account.balanceMinor;
    expect(bookNightlySwap(context, account)).toBe(true);
    bookNightlySwap(context, account);
    expect(position.swapMinor).toBe(-1_300);
    expect(account.balanceMinor).toBe(before);
    closePosition(context, account, position, 100, null);
    expect(context.events.at(-2)).toMatchObject({ type: "deal.executed", deal: { swapMinor: -1_300 } });
    expect(bookNightlySwap(context, testAccount(0))).toBe(false);
  });
});
