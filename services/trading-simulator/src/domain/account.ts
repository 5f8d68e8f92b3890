import type { Currency, Flattened } from "@kapi/contracts";
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
  /** Booked swap that no deal has realized yet; signed. */
  swapMinor: number;
  /** Ids of all deals of the position; the first one opened it. */
  readonly dealIds: string[];
}

/** A limit or stop order. Volume in hundredths of a lot. */
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

/** Settings and state of automatic trading. */
export interface AutoTrader extends RandomState {
  readonly symbols: readonly string[];
  /** Volume of each order, in hundredths of a lot. */
  readonly volume: number;
  readonly maxPositions: number;
  /** Ticks between two decisions. */
  readonly everyTicks: number;
  ticksLeft: number;
}

export type AccountStatus = "active" | "close_only" | "disabled" | "archived" | "deleted";

/** A trading account. A deleted account stays, so that its number is never reused. */
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
  /** Deposits minus withdrawals, without the initial balance. */
  netDepositsMinor: number;
  /** Sequence of the account's last event. */
  sequence: number;
  /** Number of ids given to orders, positions and deals; an id is derived from this number. */
  lastTicket: number;
  tradingPasswordHash: string;
  investorPasswordHash: string;
  /** True from a margin call until the level reaches 100 % again, or no margin is used. */
  marginCalled: boolean;
  readonly positions: Map<string, Position>;
  readonly orders: Map<string, PendingOrder>;
  autoTrader: AutoTrader | null;
  /**
   * For the reference of each change that is incomplete: the positions closed and the orders
   * cancelled so far, and the status before the change.
   */
  flattening: Record<string, Flattened & { readonly previousStatus: Exclude<AccountStatus, "deleted"> }>;
}

/** Maximum number of open positions, and of pending orders, of an account. */
export const MAX_POSITIONS = 200;
export const MAX_PENDING_ORDERS = 200;
/** Maximum balance in minor units: well within the integers that a double represents exactly. */
export const MAX_BALANCE_MINOR = 1e15;

interface NewAccount {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly name: string;
  readonly leverage: number;
  readonly currency: Currency;
  readonly balanceMinor: number;
  readonly tradingPasswordHash: string;
  readonly investorPasswordHash: string;
}

/** Returns a new active account, before its first event. */
export function createAccount(fields: NewAccount): Account {
  return {
    ...fields,
    key: accountKey(fields.serverId, fields.accountNumber),
    status: "active",
    netDepositsMinor: 0,
    sequence: 0,
    lastTicket: 0,
    marginCalled: false,
    positions: new Map(),
    orders: new Map(),
    autoTrader: null,
    flattening: {},
  };
}

/** The whole account as text, for its stored row. */
export function toState(account: Account): string {
  return JSON.stringify({
    ...account,
    positions: [...account.positions.values()],
    orders: [...account.orders.values()],
  });
}

/** Reads text of {@link toState}. It is trusted: only this service writes it. */
export function fromState(text: string): Account {
  const stored = JSON.parse(text) as Omit<Account, "positions" | "orders" | "netDepositsMinor" | "flattening"> & {
    positions: Position[];
    orders: PendingOrder[];
    netDepositsMinor?: number;
    flattening?: Account["flattening"];
  };
  return {
    ...stored,
    // Rows of release 0.1.0 have no net deposits: they are counted from now on.
    netDepositsMinor: stored.netDepositsMinor ?? 0,
    flattening: stored.flattening ?? {},
    positions: new Map(stored.positions.map((position) => [position.id, position])),
    orders: new Map(stored.orders.map((order) => [order.id, order])),
  };
}
