/**
 * Effects of new prices on an account: pending orders, stop loss and take profit, margin call,
 * stop-out.
 */
import { type Account, MAX_POSITIONS, type PendingOrder, type Position } from "./account.ts";
import type { TradingContext } from "./trading-context.ts";
import { closePriceOf, openPriceOf, type Quote } from "./prices.ts";
import { type AccountValues, nightlySwapMinor, openProfitMinor, valueAccount } from "./account-values.ts";
import { cancelOrder, closePosition, executeOrder } from "./trading.ts";

/**
 * Margin level in percent. An account whose level falls below this level gets a margin call. The
 * next call comes only after its level was at least this high again, or no margin was in use.
 */
export const MARGIN_CALL_LEVEL = 100;
/** Margin level in percent. At or below it positions are closed, largest loss first. */
export const STOP_OUT_LEVEL = 50;

/** Whether the market price has reached the price of a pending order. */
export function isTriggered(order: PendingOrder, quote: Quote): boolean {
  const price = openPriceOf(quote, order.side);
  const waitsBelow = (order.side === "buy") === (order.orderType === "limit");
  return waitsBelow ? price <= order.price : price >= order.price;
}

/** The stop that the price has reached; stop loss is checked first. */
export function reachedStop(position: Position, quote: Quote): "stop_loss" | "take_profit" | null {
  const price = closePriceOf(quote, position.side);
  const direction = position.side === "buy" ? 1 : -1;
  if (position.stopLoss !== null && (price - position.stopLoss) * direction <= 0) return "stop_loss";
  if (position.takeProfit !== null && (price - position.takeProfit) * direction >= 0) return "take_profit";
  return null;
}

/**
 * Applies new prices of the symbols in `moved` to an account: stops, pending orders, then margin.
 * Returns the values of the account afterwards.
 */
export function applyPrices(context: TradingContext, account: Account, moved: ReadonlySet<string>): AccountValues {
  for (const position of account.positions.values()) {
    if (!moved.has(position.symbol)) continue;
    const stop = reachedStop(position, context.prices.quote(position.symbol));
    if (stop !== null) closePosition(context, account, position, position.volume, stop);
  }
  for (const order of account.orders.values()) {
    if (!moved.has(order.symbol) || !isTriggered(order, context.prices.quote(order.symbol))) continue;
    if (account.status !== "active") cancelOrder(context, account, order, "account_disabled");
    else if (account.positions.size >= MAX_POSITIONS) cancelOrder(context, account, order, "too_many_positions");
    else executeOrder(context, account, order);
  }
  return watchMargin(context, account);
}

/**
 * Makes a margin call if the level has fallen below 100 %. At 50 % or less, closes positions,
 * largest loss first, until the level is above 50 % or no position is open. A price gap can leave a
 * negative balance. Returns the values afterwards.
 */
export function watchMargin(context: TradingContext, account: Account): AccountValues {
  let values = valueAccount(context.prices, account);
  if (values.marginMinor === 0 || values.marginLevel >= MARGIN_CALL_LEVEL) {
    if (account.marginCalled) {
      account.marginCalled = false;
      context.touch(account);
    }
    return values;
  }
  const levels = (): { equityMinor: number; marginMinor: number; marginLevel: number } => ({
    equityMinor: values.equityMinor,
    marginMinor: values.marginMinor,
    marginLevel: values.marginLevel,
  });
  if (!account.marginCalled) {
    account.marginCalled = true;
    context.emit(account, { type: "margin.call", ...levels() });
  }
  if (values.marginLevel > STOP_OUT_LEVEL) return values;
  context.emit(account, { type: "margin.stop_out", ...levels() });
  while (values.marginMinor > 0 && values.marginLevel <= STOP_OUT_LEVEL) {
    closePosition(context, account, ...largestLoss(context, account), "stop_out");
    values = valueAccount(context.prices, account);
  }
  if (values.marginMinor === 0) account.marginCalled = false;
  return values;
}

/** Books one night's swap (00:00 UTC) on all open positions. Returns whether there are any. */
export function bookNightlySwap(context: TradingContext, account: Account): boolean {
  for (const position of account.positions.values()) {
    position.swapMinor += nightlySwapMinor(context.prices, account.currency, position);
  }
  if (account.positions.size === 0) return false;
  context.touch(account);
  return true;
}

function largestLoss(context: TradingContext, account: Account): [position: Position, volume: number] {
  let worst: { position: Position; profit: number } | null = null;
  for (const position of account.positions.values()) {
    const profit = openProfitMinor(context.prices, account, position) + position.swapMinor;
    if (worst === null || profit < worst.profit) worst = { position, profit };
  }
  if (worst === null) throw new TypeError("margin is in use without an open position");
  return [worst.position, worst.position.volume];
}
