import { type Account, MAX_PENDING_ORDERS, MAX_POSITIONS, type PendingOrder, type Position } from "./account.ts";
import { closePriceOf, openPriceOf, type Prices, type Side } from "./prices.ts";
import { MAX_VOLUME, MIN_VOLUME, SYMBOLS, symbolSpec } from "./symbols.ts";
import type { OrderRequest } from "./trading.ts";

/** Why a request of a trader is rejected without any effect. */
export interface TradeRejection {
  readonly code:
    | "UNKNOWN_SYMBOL"
    | "INVALID_VOLUME"
    | "INVALID_PRICE"
    | "INVALID_STOPS"
    | "ACCOUNT_CLOSE_ONLY"
    | "ACCOUNT_DISABLED"
    | "ACCOUNT_ARCHIVED"
    | "MARKET_CLOSED"
    | "TOO_MANY_POSITIONS"
    | "TOO_MANY_ORDERS";
  readonly message: string;
}

/** Why an account that is not active places no orders. */
const STATUS_REJECTIONS = {
  close_only: "ACCOUNT_CLOSE_ONLY",
  disabled: "ACCOUNT_DISABLED",
  archived: "ACCOUNT_ARCHIVED",
  deleted: "ACCOUNT_ARCHIVED",
} as const;

/** Returns why an order is rejected, or null. Free margin is not checked here. */
export function checkOrder(prices: Prices, account: Account, request: OrderRequest): TradeRejection | null {
  if (account.status !== "active") {
    return { code: STATUS_REJECTIONS[account.status], message: `the account is ${account.status}` };
  }
  if (!SYMBOLS.has(request.symbol)) return { code: "UNKNOWN_SYMBOL", message: `there is no symbol ${request.symbol}` };
  if (request.volume < MIN_VOLUME || request.volume > MAX_VOLUME) {
    return { code: "INVALID_VOLUME", message: "the volume must be from 0.01 to 100 lots" };
  }
  if (request.orderType === "market") {
    if (!prices.isOpen(request.symbol)) return marketClosed(request.symbol);
    if (account.positions.size >= MAX_POSITIONS) {
      return { code: "TOO_MANY_POSITIONS", message: `an account has at most ${MAX_POSITIONS} open positions` };
    }
    const closing = closePriceOf(prices.quote(request.symbol), request.side);
    return checkStops(request.side, closing, request.stopLoss, request.takeProfit);
  }
  if (account.orders.size >= MAX_PENDING_ORDERS) {
    return { code: "TOO_MANY_ORDERS", message: `an account has at most ${MAX_PENDING_ORDERS} pending orders` };
  }
  return checkPending(prices, { ...request, orderType: request.orderType });
}

/** The rejection of a market order or of closing a position while the symbol's market is closed. */
export function marketClosed(symbol: string): TradeRejection {
  return { code: "MARKET_CLOSED", message: `the market of ${symbol} is closed` };
}

/** Why a pending order cannot have this price or these stops now, or null if it can. */
export function checkPending(
  prices: Prices,
  order: Pick<PendingOrder, "symbol" | "side" | "orderType" | "stopLoss" | "takeProfit"> & { price: number | null },
): TradeRejection | null {
  if (order.price === null || order.price <= 0) {
    return { code: "INVALID_PRICE", message: `a ${order.orderType} order needs a price above 0` };
  }
  const market = openPriceOf(prices.quote(order.symbol), order.side);
  // A buy limit and a sell stop wait below the market, a sell limit and a buy stop above it.
  const waitsBelow = (order.side === "buy") === (order.orderType === "limit");
  if (waitsBelow ? order.price >= market : order.price <= market) {
    const where = waitsBelow ? "below" : "above";
    return {
      code: "INVALID_PRICE",
      message: `the price of a ${order.side} ${order.orderType} order must be ${where} ${market}`,
    };
  }
  return checkStops(order.side, order.price, order.stopLoss, order.takeProfit);
}

/** Why a position cannot have these stops now, or null if it can. */
export function checkPositionStops(
  prices: Prices,
  position: Position,
  stopLoss: number | null,
  takeProfit: number | null,
): TradeRejection | null {
  return checkStops(position.side, closePriceOf(prices.quote(position.symbol), position.side), stopLoss, takeProfit);
}

/**
 * Rounds a price to the symbol's decimals. An absent price, and a price of an unknown symbol, are
 * unchanged.
 */
export function normalPrice(symbol: string, price: number): number;
export function normalPrice<Absent extends null | undefined>(symbol: string, price: number | Absent): number | Absent;
export function normalPrice(symbol: string, price: number | null | undefined): number | null | undefined {
  return typeof price !== "number" || !SYMBOLS.has(symbol) ? price : Number(price.toFixed(symbolSpec(symbol).digits));
}

function checkStops(
  side: Side,
  reference: number,
  stopLoss: number | null,
  takeProfit: number | null,
): TradeRejection | null {
  const direction = side === "buy" ? 1 : -1;
  if (stopLoss !== null && (stopLoss <= 0 || (reference - stopLoss) * direction <= 0)) {
    return { code: "INVALID_STOPS", message: `the stop loss ${stopLoss} is not on the losing side of ${reference}` };
  }
  if (takeProfit !== null && (takeProfit <= 0 || (takeProfit - reference) * direction <= 0)) {
    return {
      code: "INVALID_STOPS",
      message: `the take profit ${takeProfit} is not on the winning side of ${reference}`,
    };
  }
  return null;
}
