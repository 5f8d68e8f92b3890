import type { Actor, TradingEvent, TradingOrder, TradingPosition } from "@kapi/contracts";
import { toIso, uuidV5 } from "@kapi/kernel";

import type { Account, PendingOrder, Position } from "./account.ts";
import type { Prices } from "./prices.ts";
import { lotsFromVolume } from "./symbols.ts";

type EnvelopeField =
  | "eventId"
  | "serverId"
  | "accountNumber"
  | "sequence"
  | "occurredAt"
  | "reference"
  | "createdBy"
  | "balanceMinor"
  | "openPositionCount";
type WithoutEnvelope<T> = T extends TradingEvent ? Omit<T, EnvelopeField> : never;
/** An event without the fields that every event has. */
export type EventBody = WithoutEnvelope<TradingEvent>;

/**
 * What the trading rules work with: current prices, the current time, and functions that record
 * events. A rule changes the account and records each event right after its change.
 */
export interface TradingContext {
  readonly prices: Prices;
  readonly nowMs: number;
  /**
   * Records an event with the account's next sequence. `reference`: the reference of a change, only
   * for the change's own event, not for other events that the change causes.
   */
  emit(account: Account, body: EventBody, reference?: string): TradingEvent;
  /** Marks a change without an event, so that the account is stored. */
  touch(account: Account): void;
}

/**
 * Makes the complete event and advances the sequence of the account. `createdBy`: who requested the
 * change that causes the event.
 */
export function nextEvent(
  account: Account,
  body: EventBody,
  occurredAt: string,
  reference: string | null,
  createdBy?: Actor,
) {
  account.sequence += 1;
  const event: TradingEvent = {
    eventId: uuidV5(account.serverId, `${account.accountNumber}/${account.sequence}`),
    serverId: account.serverId,
    accountNumber: account.accountNumber,
    sequence: account.sequence,
    occurredAt,
    reference,
    ...(createdBy === undefined ? {} : { createdBy }),
    balanceMinor: account.balanceMinor,
    openPositionCount: account.positions.size,
    ...body,
  };
  return event;
}

/**
 * A new id of an order, position or deal: globally unique, and reproducible for the same history.
 */
export function nextTicket(account: Account): string {
  account.lastTicket += 1;
  return uuidV5(account.serverId, `${account.accountNumber}/ticket/${account.lastTicket}`);
}

/** Fields of an order that change between its events. */
export interface OrderState {
  readonly status: TradingOrder["status"];
  readonly reason: string | null;
  readonly positionId: string | null;
  readonly executedAtMs: number | null;
}

/** An order as events show it. */
export function toWireOrder(
  order: Omit<PendingOrder, "orderType" | "price"> & Pick<TradingOrder, "orderType" | "price">,
  state: OrderState,
): TradingOrder {
  return {
    id: order.id,
    symbol: order.symbol,
    side: order.side,
    orderType: order.orderType,
    volume: lotsFromVolume(order.volume),
    price: order.price,
    stopLoss: order.stopLoss,
    takeProfit: order.takeProfit,
    positionId: state.positionId,
    status: state.status,
    reason: state.reason,
    createdAt: toIso(order.createdAtMs),
    executedAt: state.executedAtMs === null ? null : toIso(state.executedAtMs),
  };
}

/** A position as events show it. `closedAtMs`: null while it is open. */
export function toWirePosition(position: Position, closedAtMs: number | null): TradingPosition {
  return {
    id: position.id,
    orderId: position.orderId,
    symbol: position.symbol,
    side: position.side,
    volume: lotsFromVolume(position.volume),
    openPrice: position.openPrice,
    status: closedAtMs === null ? "open" : "closed",
    openedAt: toIso(position.openedAtMs),
    closedAt: closedAtMs === null ? null : toIso(closedAtMs),
  };
}
