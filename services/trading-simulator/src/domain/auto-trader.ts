/**
 * Automatic trading of a demo account. Its choices come from a random stream, which the seed and
 * the account number determine.
 */
import type { Account, AutoTrader } from "./account.ts";
import type { TradingContext } from "./trading-context.ts";
import { checkOrder, normalPrice } from "./order-checks.ts";
import { openPriceOf, type Side } from "./prices.ts";
import { nextRandom } from "./random-walk.ts";
import { valueAccount } from "./account-values.ts";
import { cancelOrder, closePosition, type OrderRequest, placeOrder } from "./trading.ts";

const MAX_WAITING_ORDERS = 2;
/**
 * Probability that a decision places or cancels an order, if the account has positions and room for
 * another position. All other decisions close a position. An account without positions closes none.
 */
const OPENING_PART = 0.6;
/** Fraction of new orders that are limit orders. */
const WAITING_PART = 0.15;
/**
 * Distance of a limit order from the market, as a fraction of the price. Its stop loss and take
 * profit are 4 and 3 distances from the market.
 */
const DISTANCE = 0.0008;
/** Margin level in percent below which automatic trading places and cancels no orders. */
const CAREFUL_LEVEL = 300;

/**
 * Counts one tick. When a decision is due, the account opens a position, places a limit order,
 * cancels its oldest pending order, or closes part or all of a position, if this is possible.
 * Returns whether the account has a new event. The event may be a rejected order.
 */
export function autoTrade(context: TradingContext, account: Account, trader: AutoTrader): boolean {
  trader.ticksLeft -= 1;
  if (trader.ticksLeft > 0 || account.status !== "active") return false;
  trader.ticksLeft = trader.everyTicks;
  const values = valueAccount(context.prices, account);
  const hasRoom = account.positions.size < trader.maxPositions && values.freeMarginMinor > 0;
  const isCareful = values.marginMinor > 0 && values.marginLevel < CAREFUL_LEVEL;
  if (account.positions.size === 0 || (nextRandom(trader) < OPENING_PART && hasRoom)) {
    if (!hasRoom || isCareful) return false;
    return open(context, account, trader);
  }
  return close(context, account, trader);
}

function open(context: TradingContext, account: Account, trader: AutoTrader): boolean {
  const symbol = trader.symbols[Math.floor(nextRandom(trader) * trader.symbols.length)];
  if (symbol === undefined) return false;
  const side: Side = nextRandom(trader) < 0.5 ? "buy" : "sell";
  const oldest = account.orders.values().next().value;
  if (oldest !== undefined && account.orders.size >= MAX_WAITING_ORDERS) {
    cancelOrder(context, account, oldest, null);
    return true;
  }
  const waits = nextRandom(trader) < WAITING_PART;
  const market = openPriceOf(context.prices.quote(symbol), side);
  const direction = side === "buy" ? 1 : -1;
  const at = (parts: number): number => normalPrice(symbol, market * (1 + direction * parts * DISTANCE));
  const request: OrderRequest = {
    symbol,
    side,
    volume: trader.volume,
    orderType: waits ? "limit" : "market",
    price: waits ? at(-1) : null,
    stopLoss: waits ? at(-4) : null,
    takeProfit: waits ? at(3) : null,
  };
  if (checkOrder(context.prices, account, request) !== null) return false;
  placeOrder(context, account, request);
  return true;
}

function close(context: TradingContext, account: Account, trader: AutoTrader): boolean {
  const positions = [...account.positions.values()].filter(({ symbol }) => context.prices.isOpen(symbol));
  const position = positions[Math.floor(nextRandom(trader) * positions.length)];
  if (position === undefined) return false;
  const half = Math.floor(position.volume / 2);
  const volume = half > 0 && nextRandom(trader) < 0.5 ? half : position.volume;
  closePosition(context, account, position, volume, null);
  return true;
}
