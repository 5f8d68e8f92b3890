/** Executions: every way of opening and closing positions. */
import type { TradingOrder } from "@kapi/contracts";

import type { Account, PendingOrder, Position } from "./account.ts";
import { type TradingContext, nextTicket, toWireOrder, toWirePosition } from "./trading-context.ts";
import { shareOfMinor } from "./money.ts";
import { closePriceOf, openPriceOf, oppositeOf, type Side } from "./prices.ts";
import { commissionMinor, marginMinor, profitMinor, valueAccount } from "./account-values.ts";
import { lotsFromVolume } from "./symbols.ts";

/** A new order. Volume in hundredths of a lot; `price` null: market order. */
export interface OrderRequest {
  readonly symbol: string;
  readonly side: Side;
  readonly orderType: TradingOrder["orderType"];
  readonly volume: number;
  readonly price: number | null;
  readonly stopLoss: number | null;
  readonly takeProfit: number | null;
}

/**
 * Result of an execution, a placement or a rejection. `position` is the position that was opened,
 * or closed in whole or in part; null: none was.
 */
export interface OrderResult {
  readonly order: TradingOrder;
  readonly position: Position | null;
}

/** Rejection reason: not enough free margin. */
export const INSUFFICIENT_MARGIN = "INSUFFICIENT_MARGIN";

/**
 * Places a valid order of an active account. A market order is executed at once; without enough
 * free margin it is rejected, with an event.
 */
export function placeOrder(context: TradingContext, account: Account, request: OrderRequest): OrderResult {
  const common = { ...request, id: nextTicket(account), createdAtMs: context.nowMs };
  if (request.orderType === "market") return executeOrder(context, account, { ...common, price: null });
  const { orderType, price } = request;
  if (price === null) throw new TypeError("a pending order needs a price");
  const pending: PendingOrder = { ...common, orderType, price };
  account.orders.set(pending.id, pending);
  const order = toWireOrder(pending, { status: "placed", reason: null, positionId: null, executedAtMs: null });
  context.emit(account, { type: "order.placed", order });
  return { order, position: null };
}

/**
 * Executes an order at the current price. Emits the executed order, the entry deal with commission,
 * and the opened position. Rejects the order if free margin does not cover margin and commission.
 */
export function executeOrder(
  context: TradingContext,
  account: Account,
  order: Omit<PendingOrder, "orderType" | "price"> & Pick<TradingOrder, "orderType" | "price">,
): OrderResult {
  account.orders.delete(order.id);
  const { symbol, side, volume } = order;
  const openPrice = openPriceOf(context.prices.quote(symbol), side);
  const commission = commissionMinor(context.prices, account.currency, order);
  const needed = marginMinor(context.prices, account, { symbol, volume, openPrice }) - commission;
  if (valueAccount(context.prices, account).freeMarginMinor < needed) {
    const state = { status: "rejected", reason: INSUFFICIENT_MARGIN, positionId: null, executedAtMs: null } as const;
    const rejected = toWireOrder(order, state);
    context.emit(account, { type: "order.rejected", order: rejected });
    return { order: rejected, position: null };
  }
  const position: Position = {
    id: nextTicket(account),
    orderId: order.id,
    symbol,
    side,
    volume,
    openPrice,
    openedAtMs: context.nowMs,
    stopLoss: order.stopLoss,
    takeProfit: order.takeProfit,
    swapMinor: 0,
    dealIds: [nextTicket(account)],
  };
  const executed = toWireOrder(order, {
    status: "executed",
    reason: null,
    positionId: null,
    executedAtMs: context.nowMs,
  });
  context.emit(account, { type: "order.executed", order: executed });
  account.balanceMinor += commission;
  context.emit(account, {
    type: "deal.executed",
    deal: {
      id: position.dealIds[0] ?? "",
      orderId: order.id,
      positionId: position.id,
      symbol,
      side,
      kind: "entry",
      volume: lotsFromVolume(volume),
      price: openPrice,
      realizedPnlMinor: 0,
      commissionMinor: commission,
      swapMinor: 0,
      executedAt: executed.executedAt ?? "",
    },
  });
  account.positions.set(position.id, position);
  context.emit(account, { type: "position.opened", position: toWirePosition(position, null) });
  return { order: executed, position };
}

/**
 * Closes `volume` (hundredths of a lot) of a position at the current price. Emits the executed
 * closing order; the deal with profit, commission and a proportional share of the swap; and the
 * closed or updated position. Needs neither margin nor an active account. `reason`: why the
 * position is closed; null: by the trader.
 */
export function closePosition(
  context: TradingContext,
  account: Account,
  position: Position,
  volume: number,
  reason: string | null,
): OrderResult {
  const { symbol } = position;
  const side = oppositeOf(position.side);
  const whole = volume === position.volume;
  const closePrice = closePriceOf(context.prices.quote(symbol), position.side);
  const realizedPnl = profitMinor(context.prices, account.currency, { ...position, volume, closePrice });
  const commission = commissionMinor(context.prices, account.currency, { symbol, volume });
  const swap = shareOfMinor(position.swapMinor, volume, position.volume);
  const order = toWireOrder(
    {
      id: nextTicket(account),
      symbol,
      side,
      orderType: "market",
      volume,
      price: null,
      stopLoss: null,
      takeProfit: null,
      createdAtMs: context.nowMs,
    },
    { status: "executed", reason, positionId: position.id, executedAtMs: context.nowMs },
  );
  context.emit(account, { type: "order.executed", order });
  const dealId = nextTicket(account);
  account.balanceMinor += realizedPnl + commission + swap;
  context.emit(account, {
    type: "deal.executed",
    deal: {
      id: dealId,
      orderId: order.id,
      positionId: position.id,
      symbol,
      side,
      kind: whole ? "exit" : "partial_close",
      volume: lotsFromVolume(volume),
      price: closePrice,
      realizedPnlMinor: realizedPnl,
      commissionMinor: commission,
      swapMinor: swap,
      executedAt: order.createdAt,
    },
  });
  position.dealIds.push(dealId);
  if (whole) {
    account.positions.delete(position.id);
    const dealIds = [...position.dealIds];
    context.emit(account, { type: "position.closed", position: toWirePosition(position, context.nowMs), dealIds });
  } else {
    position.volume -= volume;
    position.swapMinor -= swap;
    context.emit(account, { type: "position.updated", position: toWirePosition(position, null) });
  }
  return { order, position };
}

/** Cancels a pending order; `reason` null: by the trader. */
export function cancelOrder(
  context: TradingContext,
  account: Account,
  order: PendingOrder,
  reason: string | null,
): TradingOrder {
  account.orders.delete(order.id);
  const cancelled = toWireOrder(order, { status: "cancelled", reason, positionId: null, executedAtMs: null });
  context.emit(account, { type: "order.cancelled", order: cancelled });
  return cancelled;
}

/** Cancels all pending orders, oldest first. */
export function cancelAllOrders(context: TradingContext, account: Account, reason: string): void {
  for (const order of account.orders.values()) cancelOrder(context, account, order, reason);
}
