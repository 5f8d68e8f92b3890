import type { Currency } from "@kapi/contracts";
import { accountKey } from "@kapi/contracts";

import type { Side } from "./prices.ts";
import type { RandomState } from "./random-walk.ts";

/** An open position. Volume in hundredths of a lot. */
export interface Position {
  readonly id: string;
  readonly orderId: string;
  readonly symbol: string;
  readonly side: Side;
  volume: number;
  readonly openPrice: number;
  readonly openedAtMs: number;
  stopLoss: number | null;
  takeProfit: number | null;
  /** Swap booked each night and not yet realized by a deal; signed. */
  swapMinor: number;
  /** Every deal so far, the entry first. */
  readonly dealIds: string[];
}

/** A limit or stop order that waits for its price. Volume in hundredths of a lot. */
export interface PendingOrder {
  readonly id: string;
  readonly symbol: string;
  readonly side: Side;
  readonly orderType: "limit" | "stop";
  readonly volume: number;
  price: number;
  stopLoss: number | null;
  takeProfit: number | null;
  readonly createdAtMs: number;
}

/** How an account trades by itself. */
export interface AutoTrader extends RandomState {
  readonly symbols: readonly string[];
  /** Of each order, in hundredths of a lot. */
  readonly volume: number;
  readonly maxPositions: number;
  /** Ticks of the market from one decision to the next. */
  readonly everyTicks: number;
  ticksLeft: number;
}

export type AccountStatus = "active" | "disabled" | "archived" | "deleted";

/** A trading account. A deleted one stays as a stone: its number is never used again. */
export interface Account {
  readonly serverId: string;
  readonly accountNumber: string;
  /** Record key on the topics. */
  readonly key: string;
  name: string;
  leverage: number;
  readonly currency: Currency;
  status: AccountStatus;
  balanceMinor: number;
  /** Sequence of its last event. */
  sequence: number;
  /** Number of the last order, position or deal id that was given. */
  lastTicket: number;
  tradingPasswordHash: string;
  investorPasswordHash: string;
  /** True from a margin call until the level is back at 100 %. */
  marginCalled: boolean;
  readonly positions: Map<string, Position>;
  readonly orders: Map<string, PendingOrder>;
  autoTrader: AutoTrader | null;
}

/** Most open positions, and most pending orders, of one account. */
export const MAX_POSITIONS = 200;
export const MAX_PENDING_ORDERS = 200;
/**
 * Most money on one account, in minor units: far inside what an integer of a double holds exactly.
 */
export const MAX_BALANCE_MINOR = 1e15;

/** What {@link newAccount} needs. */
export interface NewAccount {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly name: string;
  readonly leverage: number;
  readonly currency: Currency;
  readonly balanceMinor: number;
  readonly tradingPasswordHash: string;
  readonly investorPasswordHash: string;
}

/** An active account without events, positions or orders. */
export function newAccount(fields: NewAccount): Account {
  return {
    ...fields,
    key: accountKey(fields.serverId, fields.accountNumber),
    status: "active",
    sequence: 0,
    lastTicket: 0,
    marginCalled: false,
    positions: new Map(),
    orders: new Map(),
    autoTrader: null,
  };
}

/** The account as text, whole, for its stored row. */
export function toState(account: Account): string {
  return JSON.stringify({
    ...account,
    positions: [...account.positions.values()],
    orders: [...account.orders.values()],
  });
}

/** Reads what {@link toState} wrote. The text is this service's own, so its shape is trusted. */
export function fromState(text: string): Account {
  const stored = JSON.parse(text) as Omit<Account, "positions" | "orders"> & {
    positions: Position[];
    orders: PendingOrder[];
  };
  return {
    ...stored,
    positions: new Map(stored.positions.map((position) => [position.id, position])),
    orders: new Map(stored.orders.map((order) => [order.id, order])),
  };
}
