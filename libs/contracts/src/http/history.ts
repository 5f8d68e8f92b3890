import { z } from "zod";

import { checkedPageQuery, cursorFields, FilterText, Pagination, TIME_FIELDS } from "./pagination.ts";

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

/** Query of listTradingAccountOrders; `from` and `to` filter by `createdAt`. */
export const ListOrdersQuery = checkedPageQuery(
  z.object({
    ...cursorFields("orders"),
    ...TIME_FIELDS,
    symbol: FilterText.optional(),
    side: FilterText.optional(),
    status: FilterText.optional(),
    orderType: FilterText.optional(),
  }),
);
export type ListOrdersQuery = z.infer<typeof ListOrdersQuery>;

/** Query of listAccountDeals; `from` and `to` filter by `executedAt`. */
export const ListDealsQuery = checkedPageQuery(
  z.object({
    ...cursorFields("deals"),
    ...TIME_FIELDS,
    symbol: FilterText.optional(),
    side: FilterText.optional(),
    kind: FilterText.optional(),
    orderId: FilterText.optional(),
    positionId: FilterText.optional(),
  }),
);
export type ListDealsQuery = z.infer<typeof ListDealsQuery>;

/** Query of listAccountPositions; `from` and `to` filter by `openedAt`. */
export const ListPositionsQuery = checkedPageQuery(
  z.object({
    ...cursorFields("positions"),
    status: PositionStatusFilter.default("all"),
    ...TIME_FIELDS,
    symbol: FilterText.optional(),
    side: FilterText.optional(),
    orderId: FilterText.optional(),
  }),
);
export type ListPositionsQuery = z.infer<typeof ListPositionsQuery>;

export const OrdersAnswer = z.object({ orders: z.array(Order), pagination: Pagination });
export const PositionsAnswer = z.object({ positions: z.array(Position), pagination: Pagination });
export const DealsAnswer = z.object({ deals: z.array(Deal), pagination: Pagination });
