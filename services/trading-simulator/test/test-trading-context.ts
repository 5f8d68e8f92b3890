/**
 * Test environment of the domain: a market without ticks, and a trading context that keeps events.
 */
import type { TradingEvent } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";

import { type Account, createAccount } from "../src/domain/account.ts";
import { type TradingContext, nextEvent } from "../src/domain/trading-context.ts";
import { Market } from "../src/domain/market.ts";
import type { Quote } from "../src/domain/prices.ts";
import { SYMBOLS } from "../src/domain/symbols.ts";
import type { OrderRequest } from "../src/domain/trading.ts";

/** 2026-03-02T12:00:00Z, a Monday. */
export const NOON_MS = Date.UTC(2026, 2, 2, 12);

export const SERVER_ID = "11111111-1111-4111-8111-111111111111";

/** A trading context with its own market. A symbol that `quotes` lacks has bid and ask 1. */
export class TestTradingContext implements TradingContext {
  readonly prices = new Market({ seed: "test", recording: null, recordingSpeed: 1 }, null);
  readonly events: TradingEvent[] = [];
  nowMs = NOON_MS;
  touched = 0;

  constructor(quotes: Readonly<Record<string, Quote>> = {}) {
    for (const symbol of SYMBOLS.keys()) this.set(symbol, quotes[symbol] ?? { bid: 1, ask: 1 });
  }

  set(symbol: string, quote: Quote): void {
    this.prices.setQuote(symbol, quote, true);
  }

  emit(account: Account, body: Parameters<TradingContext["emit"]>[1], reference?: string): TradingEvent {
    const event = nextEvent(account, body, toIso(this.nowMs), reference ?? null);
    this.events.push(event);
    return event;
  }

  touch(): void {
    this.touched += 1;
  }

  /** Types of the events since the previous call, in order. */
  takeTypes(): string[] {
    return this.events.splice(0).map((event) => event.type);
  }
}

/** An active account in USD with leverage 100, unless `fields` has other values. */
export function testAccount(
  balanceMinor: number,
  fields: Partial<Pick<Account, "currency" | "leverage">> = {},
): Account {
  return createAccount({
    serverId: SERVER_ID,
    accountNumber: "10000001",
    name: "Test",
    leverage: fields.leverage ?? 100,
    currency: fields.currency ?? "USD",
    balanceMinor,
    tradingPasswordHash: "",
    investorPasswordHash: "",
  });
}

/** A market order to buy one lot of EURUSD. `fields` replaces fields of the order. */
export function order(fields: Partial<OrderRequest> = {}): OrderRequest {
  return {
    symbol: "EURUSD",
    side: "buy",
    orderType: "market",
    volume: 100,
    price: null,
    stopLoss: null,
    takeProfit: null,
    ...fields,
  };
}
