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
/** An event without what every event carries. */
export type EventBody = WithoutEnvelope<TradingEvent>;

/**
 * What the rules of trading work with: the prices and the time of this moment, and the record. The
 * rules change the account they are given and record each event right after the change that it
 * tells of.
 */
export interface TradingContext {
  readonly prices: Prices;
  readonly nowMs: number;
  /** Gives the account's next sequence to an event. `reference` names the change that made it. */
  emit(account: Account, body: EventBody, reference?: string): TradingEvent;
  /** Tells that something of the account changed that no event carries, so that it is stored. */
  touch(account: Account): void;
}

/**
 * The whole event of an account, with the account's next sequence; the account's sequence moves on.
 * `createdBy`: who asked for the change that makes or causes it.
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
 * A new id for an order, position or deal: unique everywhere, and the same again when the same
 * history is run again.
 */
export function nextTicket(account: Account): string {
  account.lastTicket += 1;
  return uuidV5(account.serverId, `${account.accountNumber}/ticket/${account.lastTicket}`);
}

/** Every field of an order that differs from one event of it to the next. */
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

/** A position as events show it; `closedAtMs` null while it is open. */
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
