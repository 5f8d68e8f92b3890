/**
 * The history of an account as arithmetic: how far it is booked and its next events give records and the new state.
 * Records are numbered by kind, from 1 without a gap, in the order in which they came into being.
 */
import type { Deal, Order, Position, TradingDeal, TradingEvent, TradingOrder, TradingPosition } from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";

import type { FactDraft } from "./account-fact.ts";

/** How far the events of an account are booked, and how many records of each kind that came to. */
export interface Feed {
  readonly bookedSequence: number;
  readonly orderCount: number;
  readonly positionCount: number;
  readonly openPositionCount: number;
  readonly dealCount: number;
}

/** An account of which nothing is booked. */
export const NEW_FEED: Feed = {
  bookedSequence: 0,
  orderCount: 0,
  positionCount: 0,
  openPositionCount: 0,
  dealCount: 0,
};

/** A record with its number among those of its kind of the account. */
export interface Numbered<T> {
  readonly n: number;
  readonly record: T;
}

/** What is known of records before the events: the number of each by its id, and of positions which are open. */
export interface KnownRecords {
  readonly orders: ReadonlyMap<string, number>;
  readonly positions: ReadonlyMap<string, { readonly n: number; readonly isOpen: boolean }>;
}

/** What events come to: each record as it is after them, once. */
export interface BookedHistory {
  readonly feed: Feed;
  readonly orders: readonly Numbered<TradingOrder>[];
  readonly positions: readonly Numbered<TradingPosition>[];
  readonly deals: readonly Numbered<TradingDeal>[];
}

/** The orders and positions that events tell of; what is known of them has to be given to {@link bookHistory}. */
export function recordsOf(events: readonly TradingEvent[]): { orderIds: string[]; positionIds: string[] } {
  const orderIds = new Set<string>();
  const positionIds = new Set<string>();
  for (const event of events) {
    if ("order" in event) orderIds.add(event.order.id);
    else if ("position" in event) positionIds.add(event.position.id);
  }
  return { orderIds: [...orderIds], positionIds: [...positionIds] };
}

/** Books `run`: the next events of the account, without a gap. Those that tell of no record only move the sequence on. */
export function bookHistory(feed: Feed, run: readonly TradingEvent[], known: KnownRecords): BookedHistory {
  const orders = new Map<string, Numbered<TradingOrder>>();
  const positions = new Map<string, Numbered<TradingPosition>>();
  const deals: Numbered<TradingDeal>[] = [];
  let { bookedSequence, orderCount, positionCount, openPositionCount, dealCount } = feed;
  for (const event of run) {
    bookedSequence = event.sequence;
    if ("order" in event) {
      const { id } = event.order;
      const n = orders.get(id)?.n ?? known.orders.get(id) ?? (orderCount += 1);
      orders.set(id, { n, record: event.order });
    } else if ("position" in event) {
      const { id, status } = event.position;
      const before = positions.get(id);
      const stored = known.positions.get(id);
      const wasOpen = before === undefined ? stored?.isOpen === true : before.record.status === "open";
      const n = before?.n ?? stored?.n ?? (positionCount += 1);
      openPositionCount += Number(status === "open") - Number(wasOpen);
      positions.set(id, { n, record: event.position });
    } else if ("deal" in event) {
      dealCount += 1;
      deals.push({ n: dealCount, record: event.deal });
    }
  }
  return {
    feed: { bookedSequence, orderCount, positionCount, openPositionCount, dealCount },
    orders: [...orders.values()],
    positions: [...positions.values()],
    deals,
  };
}

/** The fact that an event becomes once it is booked (decisions, 11); null for one that becomes none. */
export function toFact(event: TradingEvent): FactDraft | null {
  const { serverId, accountNumber, occurredAt } = event;
  const common = { serverId, accountNumber, occurredAt };
  switch (event.type) {
    case "order.executed":
    case "order.cancelled":
      return { ...common, type: event.type, order: toOrder(event.order) };
    case "position.opened":
    case "position.updated":
      return { ...common, type: event.type, position: toPosition(event.position) };
    case "position.closed": {
      const { type, dealIds, openPositionCount } = event;
      return { ...common, type, position: toPosition(event.position), dealIds, openPositionCount };
    }
    case "deal.executed":
      return { ...common, type: event.type, deal: toDeal(event.deal) };
    case "margin.call":
    case "margin.stop_out": {
      const { type, equityMinor, marginMinor, marginLevel } = event;
      const worth = { equity: amountFromMinor(equityMinor), usedMargin: amountFromMinor(marginMinor), marginLevel };
      return { ...common, type, ...worth };
    }
    default:
      return null;
  }
}

function toOrder({ id, symbol, side, orderType, volume, status, createdAt, executedAt }: TradingOrder): Order {
  return { id, symbol, side, orderType, volume, status, createdAt, executedAt };
}

function toPosition(position: TradingPosition): Position {
  const { id, orderId, symbol, side, volume, openPrice, status, openedAt, closedAt } = position;
  return { id, orderId, symbol, side, volume, openPrice, status, openedAt, closedAt };
}

function toDeal(deal: TradingDeal): Deal {
  const { id, orderId, positionId, symbol, side, kind, volume, price, executedAt } = deal;
  return {
    id,
    orderId,
    positionId,
    symbol,
    side,
    kind,
    volume,
    price,
    commission: amountFromMinor(deal.commissionMinor),
    realizedPnl: amountFromMinor(deal.realizedPnlMinor),
    swap: amountFromMinor(deal.swapMinor),
    executedAt,
  };
}
