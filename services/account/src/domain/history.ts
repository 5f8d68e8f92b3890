/**
 * The history of an account as arithmetic: how far it is booked and its next events give records
 * and the new state. Records are numbered by kind, from 1 without a gap, in the order in which they
 * came into being.
 */
import {
  type Deal,
  isAnnouncedByFinance,
  type Order,
  type Position,
  type TradingDeal,
  type TradingEvent,
  type TradingOrder,
  type TradingPosition,
} from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";

import type { FactDraft } from "./account-fact.ts";

/** How far the events of an account are booked, and how many records of each kind that came to. */
export interface Feed {
  readonly bookedSequence: number;
  readonly orderCount: number;
  readonly positionCount: number;
  readonly openPositionCount: number;
  readonly dealCount: number;
  /** Sequence of the last booked event that the finance service announces; 0 for none. */
  readonly ledgerSequence: number;
}

/** An account of which nothing is booked. */
export const NEW_FEED: Feed = {
  bookedSequence: 0,
  orderCount: 0,
  positionCount: 0,
  openPositionCount: 0,
  dealCount: 0,
  ledgerSequence: 0,
};

/** A record with its number among those of its kind of the account. */
export interface Numbered<T> {
  readonly n: number;
  readonly record: T;
}

/** A position with its number; the trading server tells only the volume that is left. */
export interface NumberedPosition extends Numbered<TradingPosition> {
  /** In lots: what was opened. */
  readonly openedVolume: number;
}

/** A position before the events. */
export interface KnownPosition {
  readonly n: number;
  readonly isOpen: boolean;
  readonly openedVolume: number;
}

/** What is known of records before the events, by id; of an order its number. */
export interface KnownRecords {
  readonly orders: ReadonlyMap<string, number>;
  readonly positions: ReadonlyMap<string, KnownPosition>;
}

/**
 * What events come to: each record as it is after them, once, and a fact of each event that makes
 * one.
 */
export interface BookedHistory {
  readonly feed: Feed;
  readonly orders: readonly Numbered<TradingOrder>[];
  readonly positions: readonly NumberedPosition[];
  readonly deals: readonly Numbered<TradingDeal>[];
  readonly facts: readonly FactDraft[];
}

/**
 * The orders and positions that events tell of; what is known of them has to be given to
 * {@link bookHistory}.
 */
export function recordsOf(events: readonly TradingEvent[]): { orderIds: string[]; positionIds: string[] } {
  const orderIds = new Set<string>();
  const positionIds = new Set<string>();
  for (const event of events) {
    if ("order" in event) orderIds.add(event.order.id);
    else if ("position" in event) positionIds.add(event.position.id);
  }
  return { orderIds: [...orderIds], positionIds: [...positionIds] };
}

/**
 * Books `run`: the next events of the account, without a gap. Those that tell of no record only
 * move the sequence on.
 */
export function bookHistory(feed: Feed, run: readonly TradingEvent[], known: KnownRecords): BookedHistory {
  const orders = new Map<string, Numbered<TradingOrder>>();
  const positions = new Map<string, NumberedPosition>();
  const deals: Numbered<TradingDeal>[] = [];
  const facts: FactDraft[] = [];
  let { bookedSequence, orderCount, positionCount, openPositionCount, dealCount, ledgerSequence } = feed;
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
      const openedVolume = Math.max((before ?? stored)?.openedVolume ?? 0, event.position.volume);
      positions.set(id, { n, record: event.position, openedVolume });
    } else if ("deal" in event) {
      dealCount += 1;
      deals.push({ n: dealCount, record: event.deal });
    }
    const position = "position" in event ? positions.get(event.position.id) : undefined;
    const fact = toFact(event, position?.openedVolume ?? 0);
    if (fact !== null) facts.push({ ...fact, place: { through: bookedSequence, after: ledgerSequence } });
    if (isAnnouncedByFinance(event)) ledgerSequence = event.sequence;
  }
  return {
    feed: { bookedSequence, orderCount, positionCount, openPositionCount, dealCount, ledgerSequence },
    orders: [...orders.values()],
    positions: [...positions.values()],
    deals,
    facts,
  };
}

/** Lots of any platform have no more decimals. */
const LOTS_PER_UNIT = 1e8;

/**
 * The two volumes of a position as the API shows them (decisions, 13), in lots, from what was
 * opened and what is left. The trading server tells of a closed position what was left before the
 * close.
 */
export function volumesOf(
  openedVolume: number,
  { status, volume: left }: Pick<TradingPosition, "status" | "volume">,
): Pick<Position, "volume" | "closedVolume"> {
  const volume = Math.max(openedVolume, left);
  // 0.3 - 0.1 is not 0.2 in floating point.
  const closedVolume = status === "closed" ? volume : Math.round((volume - left) * LOTS_PER_UNIT) / LOTS_PER_UNIT;
  return { volume, closedVolume };
}

/**
 * The fact that an event becomes once it is booked (decisions, 11); null for one that becomes none.
 * `openedVolume` is that of the event's position.
 */
function toFact(event: TradingEvent, openedVolume: number): FactDraft | null {
  const { serverId, accountNumber, occurredAt } = event;
  const common = { serverId, accountNumber, occurredAt };
  switch (event.type) {
    case "order.executed":
    case "order.cancelled":
      return { ...common, type: event.type, order: toOrder(event.order) };
    case "position.opened":
    case "position.updated":
      return { ...common, type: event.type, position: toPosition(event.position, openedVolume) };
    case "position.closed": {
      const { type, dealIds, openPositionCount } = event;
      const position = toPosition(event.position, openedVolume);
      return { ...common, type, position, dealIds, openPositionCount };
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

function toPosition(position: TradingPosition, openedVolume: number): Position {
  const { id, orderId, symbol, side, openPrice, status, openedAt, closedAt } = position;
  return { id, orderId, symbol, side, ...volumesOf(openedVolume, position), openPrice, status, openedAt, closedAt };
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
