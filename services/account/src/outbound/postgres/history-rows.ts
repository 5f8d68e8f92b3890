import type { Deal, Order, Position } from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";
import { instantText } from "@kapi/postgres";

import { volumesOf } from "../../domain/history.ts";
import { openedVolume } from "./history-statements.ts";

const instant = (name: string): string => `${instantText(name)} as ${name}`;

export const ORDER_COLUMNS = `id, n, symbol, side, order_type, volume, status, ${instant("created_at")},
  ${instant("executed_at")}`;
/** The query must give the positions the alias `t`. */
export const POSITION_COLUMNS = `id, n, order_id, symbol, side, volume, ${openedVolume("live")} as opened_volume,
  open_price, status, ${instant("opened_at")}, ${instant("closed_at")}`;
export const DEAL_COLUMNS = `id, n, order_id, position_id, symbol, side, kind, volume, price, commission_minor,
  realized_pnl_minor, swap_minor, ${instant("executed_at")}`;

/** A row of `orders` read with {@link ORDER_COLUMNS}. Times are texts with microseconds. */
export interface OrderRow {
  readonly id: string;
  /** Number among the account's orders, from 1. */
  readonly n: number;
  readonly symbol: string;
  readonly side: string;
  readonly order_type: string;
  /** In lots. */
  readonly volume: number;
  readonly status: string;
  readonly created_at: string;
  /** Null unless the order was executed. */
  readonly executed_at: string | null;
}

/**
 * A row of `positions` read with {@link POSITION_COLUMNS}. Volumes are in lots, times are texts
 * with microseconds.
 */
export interface PositionRow {
  readonly id: string;
  /** Number among the account's positions, from 1. */
  readonly n: number;
  readonly order_id: string;
  readonly symbol: string;
  readonly side: string;
  /** The open volume; for a closed position, the volume before the close. */
  readonly volume: number;
  readonly opened_volume: number;
  readonly open_price: number;
  readonly status: Position["status"];
  readonly opened_at: string;
  /** Null while the position is open. */
  readonly closed_at: string | null;
}

/**
 * A row of `deals` read with {@link DEAL_COLUMNS}. Money is in minor units of the account's
 * currency.
 */
export interface DealRow {
  readonly id: string;
  /** Number among the account's deals, from 1. */
  readonly n: number;
  readonly order_id: string;
  readonly position_id: string;
  readonly symbol: string;
  readonly side: string;
  readonly kind: string;
  /** In lots. */
  readonly volume: number;
  readonly price: number;
  readonly commission_minor: number;
  readonly realized_pnl_minor: number;
  readonly swap_minor: number;
  /** Text with microseconds. */
  readonly executed_at: string;
}

const ZERO_MICROSECONDS = "000Z";

/** ISO 8601 with microseconds; with milliseconds if the last three digits are 0. */
function toInstant(text: string): string {
  return text.endsWith(ZERO_MICROSECONDS) ? `${text.slice(0, -ZERO_MICROSECONDS.length)}Z` : text;
}

/**
 * The order as the API shows it. Times have microseconds, or milliseconds if the last three digits
 * are 0.
 */
export function orderFromRow(row: OrderRow): Order {
  return {
    id: row.id,
    symbol: row.symbol,
    side: row.side,
    orderType: row.order_type,
    volume: row.volume,
    status: row.status,
    createdAt: toInstant(row.created_at),
    executedAt: row.executed_at === null ? null : toInstant(row.executed_at),
  };
}

/**
 * The position as the API shows it, with the opened volume as `volume` (decisions, 13). Times as in
 * {@link orderFromRow}.
 */
export function positionFromRow(row: PositionRow): Position {
  return {
    id: row.id,
    orderId: row.order_id,
    symbol: row.symbol,
    side: row.side,
    ...volumesOf(row.opened_volume, row),
    openPrice: row.open_price,
    status: row.status,
    openedAt: toInstant(row.opened_at),
    closedAt: row.closed_at === null ? null : toInstant(row.closed_at),
  };
}

/**
 * The deal as the API shows it, with money as numbers in major units. Times as in
 * {@link orderFromRow}.
 */
export function dealFromRow(row: DealRow): Deal {
  return {
    id: row.id,
    orderId: row.order_id,
    positionId: row.position_id,
    symbol: row.symbol,
    side: row.side,
    kind: row.kind,
    volume: row.volume,
    price: row.price,
    commission: amountFromMinor(row.commission_minor),
    realizedPnl: amountFromMinor(row.realized_pnl_minor),
    swap: amountFromMinor(row.swap_minor),
    executedAt: toInstant(row.executed_at),
  };
}
