/**
 * The history of an account as pure computation: the current state and the next events give records
 * and the new state. Records are numbered by kind, from 1 without a gap, in order of creation.
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

import type { AccountEventDraft } from "./account-event.ts";

/** How far an account is booked, and its number of records of each kind. */
export interface Feed {
  readonly bookedSequence: number;
  readonly orderCount: number;
  readonly positionCount: number;
  readonly openPositionCount: number;
  readonly dealCount: number;
  /** Sequence of the last booked event that finance publishes; 0 without one. */
  readonly ledgerSequence: number;
}

/** The state of an account without booked events. */
export const NEW_FEED: Feed = {
  bookedSequence: 0,
  orderCount: 0,
  positionCount: 0,
  openPositionCount: 0,
  dealCount: 0,
  ledgerSequence: 0,
};

/** A record with its number within its kind. */
export interface Numbered<T> {
  readonly n: number;
  readonly record: T;
}

/** A numbered position. The trading server does not report its opened volume. */
export interface NumberedPosition extends Numbered<TradingPosition> {
  /** In lots, at opening. */
  readonly openedVolume: number;
}

/** A stored position. */
export interface KnownPosition {
  readonly n: number;
  readonly isOpen: boolean;
  readonly openedVolume: number;
}

/** Stored records by id. Of an order only its number is needed. */
export interface KnownRecords {
  readonly orders: ReadonlyMap<string, number>;
  readonly positions: ReadonlyMap<string, KnownPosition>;
}

/** The result of booking: each changed record once, and the account events to publish. */
export interface BookedHistory {
  readonly feed: Feed;
  readonly orders: readonly Numbered<TradingOrder>[];
  readonly positions: readonly NumberedPosition[];
  readonly deals: readonly Numbered<TradingDeal>[];
  readonly accountEvents: readonly AccountEventDraft[];
}

/**
 * The ids of the orders and positions in these events. {@link bookHistory} needs their stored
 * state.
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
 * Books `run`: the next events of the account, without a gap. Every event advances the sequence,
 * also an event without a record.
 */
export function bookHistory(feed: Feed, run: readonly TradingEvent[], known: KnownRecords): BookedHistory {
  const orders = new Map<string, Numbered<TradingOrder>>();
  const positions = new Map<string, NumberedPosition>();
  const deals: Numbered<TradingDeal>[] = [];
  const accountEvents: AccountEventDraft[] = [];
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
    const accountEvent = toAccountEvent(event, position?.openedVolume ?? 0);
    if (accountEvent !== null)
      accountEvents.push({ ...accountEvent, place: { through: bookedSequence, after: ledgerSequence } });
    if (isAnnouncedByFinance(event)) ledgerSequence = event.sequence;
  }
  return {
    feed: { bookedSequence, orderCount, positionCount, openPositionCount, dealCount, ledgerSequence },
    orders: [...orders.values()],
    positions: [...positions.values()],
    deals,
    accountEvents,
  };
}

/** The smallest volume step of any platform is 1e-8 lots. */
const UNITS_PER_LOT = 1e8;

/**
 * The volumes of a position as the API shows them (decisions, 13), in lots, from the opened and the
 * remaining volume. For a closed position the trading server reports the volume before the close.
 */
export function volumesOf(
  openedVolume: number,
  { status, volume: left }: Pick<TradingPosition, "status" | "volume">,
): Pick<Position, "volume" | "closedVolume"> {
  const volume = Math.max(openedVolume, left);
  // In floating point, 0.3 - 0.1 is not 0.2.
  const closedVolume = status === "closed" ? volume : Math.round((volume - left) * UNITS_PER_LOT) / UNITS_PER_LOT;
  return { volume, closedVolume };
}

/**
 * The account event for a booked trading event (decisions, 11); null if there is none.
 * `openedVolume` is that of the event's position.
 */
function toAccountEvent(event: TradingEvent, openedVolume: number): AccountEventDraft | null {
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
      const margin = { equity: amountFromMinor(equityMinor), usedMargin: amountFromMinor(marginMinor), marginLevel };
      return { ...common, type, ...margin };
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
