/**
 * Actions of the control API: orders, positions, automatic trading, markets and prices. An action
 * that is not rejected resolves after its changes are stored.
 */
import type { TradingOrder } from "@kapi/contracts";

import type { Account, AutoTrader, PendingOrder, Position } from "../domain/account.ts";
import type { TradingContext } from "../domain/trading-context.ts";
import { watchMargin } from "../domain/market-effects.ts";
import {
  checkOrder,
  checkPending,
  checkPositionStops,
  marketClosed,
  type TradeRejection,
} from "../domain/order-checks.ts";
import type { Quote } from "../domain/prices.ts";
import { randomState } from "../domain/random-walk.ts";
import { symbolSpec } from "../domain/symbols.ts";
import { cancelOrder, closePosition, type OrderRequest, type OrderResult, placeOrder } from "../domain/trading.ts";
import type { Engine } from "./engine.ts";
import { applyMovedPrices } from "./run-market.ts";
import type { TradingServer } from "./server.ts";

export type TradeResult<T> = { readonly done: T } | { readonly rejection: TradeRejection };

/** An account on its server. */
export interface AccountAt {
  readonly engine: Engine;
  readonly server: TradingServer;
  readonly account: Account;
}

/** Places an order. A market order without enough free margin has status rejected. */
export function placeOrderOn(at: AccountAt, request: OrderRequest): Promise<TradeResult<OrderResult>> {
  const rejection = checkOrder(at.server.market, at.account, request);
  if (rejection !== null) return Promise.resolve({ rejection });
  return operate(at, (context) => placeOrder(context, at.account, request));
}

/** Closes `volume` (hundredths of a lot) of a position; null: all of it. */
export function closePositionOn(
  at: AccountAt,
  position: Position,
  volume: number | null,
): Promise<TradeResult<OrderResult>> {
  if (volume !== null && (volume < 1 || volume > position.volume)) {
    const message = `the position has ${position.volume / 100} lots`;
    return Promise.resolve({ rejection: { code: "INVALID_VOLUME", message } });
  }
  if (!at.server.market.isOpen(position.symbol)) return Promise.resolve({ rejection: marketClosed(position.symbol) });
  return operate(at, (context) => closePosition(context, at.account, position, volume ?? position.volume, null));
}

/** Cancels a pending order. */
export function cancelOrderOn(at: AccountAt, order: PendingOrder): Promise<TradeResult<TradingOrder>> {
  return operate(at, (context) => cancelOrder(context, at.account, order, null));
}

/** Changes price or stops of a pending order; undefined keeps, null removes. */
export function modifyOrderOn(
  at: AccountAt,
  order: PendingOrder,
  change: { price?: number | undefined; stopLoss?: number | null | undefined; takeProfit?: number | null | undefined },
): Promise<TradeResult<PendingOrder>> {
  const wanted = {
    ...order,
    price: change.price ?? order.price,
    stopLoss: change.stopLoss === undefined ? order.stopLoss : change.stopLoss,
    takeProfit: change.takeProfit === undefined ? order.takeProfit : change.takeProfit,
  };
  const rejection = checkPending(at.server.market, wanted);
  if (rejection !== null) return Promise.resolve({ rejection });
  return operate(at, (context) => {
    Object.assign(order, { price: wanted.price, stopLoss: wanted.stopLoss, takeProfit: wanted.takeProfit });
    context.touch(at.account);
    return order;
  });
}

/** Changes the stops of a position; undefined keeps, null removes. */
export function modifyPositionOn(
  at: AccountAt,
  position: Position,
  change: { stopLoss?: number | null | undefined; takeProfit?: number | null | undefined },
): Promise<TradeResult<Position>> {
  const stopLoss = change.stopLoss === undefined ? position.stopLoss : change.stopLoss;
  const takeProfit = change.takeProfit === undefined ? position.takeProfit : change.takeProfit;
  const rejection = checkPositionStops(at.server.market, position, stopLoss, takeProfit);
  if (rejection !== null) return Promise.resolve({ rejection });
  return operate(at, (context) => {
    Object.assign(position, { stopLoss, takeProfit });
    context.touch(at.account);
    return position;
  });
}

/** Starts automatic trading, or stops it (null). */
export async function setAutoTrader(
  { engine, server, account }: AccountAt,
  settings: Pick<AutoTrader, "symbols" | "volume" | "maxPositions" | "everyTicks"> | null,
): Promise<void> {
  account.autoTrader =
    settings === null
      ? null
      : { ...settings, ...randomState(engine.feed.seed, account.accountNumber), ticksLeft: settings.everyTicks };
  server.reindex(account);
  engine.committer.storeAccount(account);
  await engine.committer.stored();
}

/** Closes or opens the market of a symbol. */
export async function setMarketOpen(
  engine: Engine,
  server: TradingServer,
  symbol: string,
  open: boolean,
): Promise<void> {
  server.market.setOpen(symbolSpec(symbol).name, open);
  engine.committer.storeServer(server);
  await engine.committer.stored();
}

/**
 * Sets the price of a symbol and applies its effects.
 * @throws ApiError 503 while too many rows wait for the database.
 */
export async function setPrice(
  engine: Engine,
  server: TradingServer,
  symbol: string,
  price: Quote & { readonly held: boolean },
): Promise<Quote> {
  engine.committer.rejectWhenFull();
  server.market.setQuote(symbolSpec(symbol).name, price, price.held);
  engine.committer.storeServer(server);
  applyMovedPrices(engine, server, [symbol]);
  const quote = server.market.quote(symbol);
  const shown = { bid: quote.bid, ask: quote.ask };
  await engine.committer.stored();
  return shown;
}

async function operate<T>(
  { engine, server, account }: AccountAt,
  action: (context: TradingContext) => T,
): Promise<TradeResult<T>> {
  engine.committer.rejectWhenFull();
  const context = engine.context(server);
  const done = action(context);
  engine.changed(server, context, account, watchMargin(context, account));
  await engine.committer.stored();
  return { done };
}
