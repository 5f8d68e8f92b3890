import { z } from "zod";

import { DateTime } from "../values.ts";
import { cursorOf } from "./cursor.ts";
import { isPeriod, PageQuery, Pagination, PERIOD_ISSUE } from "./pagination.ts";

/** Longest text of a filter, in characters: longer than any id or name of a trading server. */
const MAX_FILTER_CHARACTERS = 100;

const NullableDateTime = z.iso.datetime().nullable();

/** An order as the API shows it (interface, "Order record"). Volume in lots. */
export const Order = z.object({
  id: z.string(),
  symbol: z.string(),
  side: z.string(),
  orderType: z.string(),
  volume: z.number(),
  status: z.string(),
  createdAt: z.iso.datetime(),
  executedAt: NullableDateTime,
});
export type Order = z.infer<typeof Order>;

export const POSITION_STATUSES = ["open", "closed"] as const;
export const PositionStatus = z.enum(POSITION_STATUSES);
export type PositionStatus = z.infer<typeof PositionStatus>;

/**
 * A position as the API shows it (interface, "Position record"). Volumes in lots: `volume` was
 * opened, `closedVolume` was closed since; the difference is still open (decisions, 13).
 */
export const Position = z.object({
  id: z.string(),
  orderId: z.string(),
  symbol: z.string(),
  side: z.string(),
  volume: z.number(),
  closedVolume: z.number(),
  openPrice: z.number(),
  status: PositionStatus,
  openedAt: z.iso.datetime(),
  closedAt: NullableDateTime,
});
export type Position = z.infer<typeof Position>;

/**
 * A position between services. Release 0.1.0 sends no `closedVolume`, and its `volume` is the open
 * volume. The default 0 keeps the difference of the two fields correct.
 */
export const PositionMessage = Position.extend({ closedVolume: z.number().default(0) });

/**
 * One execution as the API shows it (interface, "Deal record"). Amounts in units of currency; costs
 * are negative.
 */
export const Deal = z.object({
  id: z.string(),
  orderId: z.string(),
  positionId: z.string(),
  symbol: z.string(),
  side: z.string(),
  kind: z.string(),
  volume: z.number(),
  price: z.number(),
  commission: z.number(),
  realizedPnl: z.number(),
  swap: z.number(),
  executedAt: z.iso.datetime(),
});
export type Deal = z.infer<typeof Deal>;

export const PositionStatusFilter = z.enum(["all", ...POSITION_STATUSES]);

/** Text of a filter, compared for equality. */
const Filter = z.string().min(1).max(MAX_FILTER_CHARACTERS).optional();
/** A period by the record's own time: `from` is inclusive, `to` exclusive. */
const Period = { from: DateTime.optional(), to: DateTime.optional() };

/** Query of listTradingAccountOrders; the period is that of `createdAt`. */
export const ListOrdersQuery = PageQuery.extend({
  cursor: cursorOf("orders").optional(),
  ...Period,
  symbol: Filter,
  side: Filter,
  status: Filter,
  orderType: Filter,
}).refine(isPeriod, PERIOD_ISSUE);
export type ListOrdersQuery = z.infer<typeof ListOrdersQuery>;

/** Query of listAccountDeals; the period is that of `executedAt`. */
export const ListDealsQuery = PageQuery.extend({
  cursor: cursorOf("deals").optional(),
  ...Period,
  symbol: Filter,
  side: Filter,
  kind: Filter,
  orderId: Filter,
  positionId: Filter,
}).refine(isPeriod, PERIOD_ISSUE);
export type ListDealsQuery = z.infer<typeof ListDealsQuery>;

/** Query of listAccountPositions; the period is that of `openedAt`. */
export const ListPositionsQuery = PageQuery.extend({
  status: PositionStatusFilter.default("all"),
  cursor: cursorOf("positions").optional(),
  ...Period,
  symbol: Filter,
  side: Filter,
  orderId: Filter,
}).refine(isPeriod, PERIOD_ISSUE);
export type ListPositionsQuery = z.infer<typeof ListPositionsQuery>;

export const OrdersAnswer = z.object({ orders: z.array(Order), pagination: Pagination });
export const PositionsAnswer = z.object({ positions: z.array(Position), pagination: Pagination });
export const DealsAnswer = z.object({ deals: z.array(Deal), pagination: Pagination });
