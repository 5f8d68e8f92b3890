import { z } from "zod";

import { MessageCreatedBy } from "../actor.ts";
import { Currency, Minor } from "../values.ts";

const Sequence = z.int().min(1);
const TradingAccountStatus = z.enum(["active", "close_only", "disabled", "archived"]);

export const ORDER_TYPES = ["market", "limit", "stop"] as const;
export const SIDES = ["buy", "sell"] as const;
export const ORDER_STATUSES = ["placed", "executed", "cancelled", "rejected"] as const;

/** An order on the trading server. Prices in the symbol's quote currency, volume in lots. */
export const TradingOrder = z.object({
  id: z.string(),
  symbol: z.string(),
  side: z.enum(SIDES),
  orderType: z.enum(ORDER_TYPES),
  volume: z.number(),
  /** Null for a market order. */
  price: z.number().nullable(),
  stopLoss: z.number().nullable(),
  takeProfit: z.number().nullable(),
  /** The position that this order closes, if it closes one. */
  positionId: z.string().nullable(),
  status: z.enum(ORDER_STATUSES),
  reason: z.string().nullable(),
  createdAt: z.iso.datetime(),
  executedAt: z.iso.datetime().nullable(),
});
export type TradingOrder = z.infer<typeof TradingOrder>;

export const TradingPosition = z.object({
  id: z.string(),
  orderId: z.string(),
  symbol: z.string(),
  side: z.enum(SIDES),
  /** Lots that are still open; for a closed position, its last volume. */
  volume: z.number(),
  openPrice: z.number(),
  status: z.enum(["open", "closed"]),
  openedAt: z.iso.datetime(),
  closedAt: z.iso.datetime().nullable(),
});
export type TradingPosition = z.infer<typeof TradingPosition>;

/** One execution: entry, exit or partial close. */
export const TradingDeal = z.object({
  id: z.string(),
  orderId: z.string(),
  positionId: z.string(),
  symbol: z.string(),
  side: z.enum(SIDES),
  kind: z.enum(["entry", "exit", "partial_close"]),
  volume: z.number(),
  price: z.number(),
  realizedPnlMinor: Minor,
  /** Signed: a cost is negative. */
  commissionMinor: Minor,
  /** Signed: a cost is negative. */
  swapMinor: Minor,
  executedAt: z.iso.datetime(),
});
export type TradingDeal = z.infer<typeof TradingDeal>;

/** A position that a change closed. */
export const ClosedPosition = z.object({
  positionId: z.string(),
  /** The deals that closed it. */
  dealIds: z.array(z.string()),
  /** The price of the last of these deals. */
  price: z.number(),
});

/** The positions that a change closed, and the orders that it cancelled, over all its attempts. */
export const Flattened = z.object({
  closed: z.array(ClosedPosition),
  /** Ids of the orders. */
  cancelled: z.array(z.string()),
});
export type Flattened = z.infer<typeof Flattened>;

/** The fields of every event of an account. */
const Envelope = {
  /** UUIDv5(serverId, "<accountNumber>/<sequence>"). */
  eventId: z.uuid(),
  serverId: z.guid(),
  accountNumber: z.string(),
  /** Counts the events of the account, of all types, from 1 without a gap. */
  sequence: Sequence,
  occurredAt: z.iso.datetime(),
  /**
   * The reference of a change, if this is the event of the change itself. Null for further events
   * that a change causes, and for events of the market or of a trader.
   */
  reference: z.string().nullable(),
  /** Who asked for the change that made or caused the event, if the change names the actor. */
  createdBy: MessageCreatedBy,
  /** Balance after the event. */
  balanceMinor: Minor,
  openPositionCount: z.int().min(0),
};

/** A record of `trading.events`: what happened on an account of a trading server. */
export const TradingEvent = z.discriminatedUnion("type", [
  z.object({
    ...Envelope,
    type: z.literal("account.created"),
    accountName: z.string(),
    leverage: z.int(),
    currency: Currency,
    initialBalanceMinor: Minor,
  }),
  z.object({ ...Envelope, type: z.literal("account.updated"), accountName: z.string(), leverage: z.int() }),
  z.object({
    ...Envelope,
    type: z.literal("account.status_changed"),
    status: TradingAccountStatus,
    previousStatus: TradingAccountStatus,
    /** Ids of the orders that the change cancelled; only with the status `close_only`. */
    cancelled: Flattened.shape.cancelled.optional(),
  }),
  z.object({
    ...Envelope,
    type: z.literal("account.password_changed"),
    passwordKind: z.enum(["trading", "investor"]),
  }),
  // The event of a change that flattens, after those of the closed positions and cancelled orders.
  z.object({
    ...Envelope,
    type: z.literal("account.flattened"),
    ...Flattened.shape,
    status: TradingAccountStatus,
    previousStatus: TradingAccountStatus,
  }),
  z.object({ ...Envelope, type: z.literal("account.deleted") }),
  z.object({
    ...Envelope,
    type: z.literal("balance.changed"),
    kind: z.enum(["deposit", "withdrawal", "adjustment"]),
    /** Signed: a withdrawal is negative. */
    amountMinor: Minor,
    description: z.string().nullable(),
  }),
  z.object({ ...Envelope, type: z.literal("order.placed"), order: TradingOrder }),
  z.object({ ...Envelope, type: z.literal("order.executed"), order: TradingOrder }),
  z.object({ ...Envelope, type: z.literal("order.cancelled"), order: TradingOrder }),
  z.object({ ...Envelope, type: z.literal("order.rejected"), order: TradingOrder }),
  z.object({ ...Envelope, type: z.literal("position.opened"), position: TradingPosition }),
  z.object({ ...Envelope, type: z.literal("position.updated"), position: TradingPosition }),
  z.object({
    ...Envelope,
    type: z.literal("position.closed"),
    position: TradingPosition,
    dealIds: z.array(z.string()),
  }),
  z.object({ ...Envelope, type: z.literal("deal.executed"), deal: TradingDeal }),
  z.object({
    ...Envelope,
    type: z.enum(["margin.call", "margin.stop_out"]),
    equityMinor: Minor,
    marginMinor: Minor,
    /** Percent. */
    marginLevel: z.number(),
  }),
]);
export type TradingEvent = z.infer<typeof TradingEvent>;
