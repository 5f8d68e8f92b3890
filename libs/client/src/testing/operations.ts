/** The operations of the fake: what each command does to an account. */
import { randomUUID } from "node:crypto";

import { setRules } from "./rules.ts";
import {
  amountOf,
  type CommandOutcome,
  type FakeState,
  type Json,
  minorOf,
  type Rule,
  type StoredAccount,
} from "./state.ts";

/** The states of an account in which each operation fails with `INVALID_STATE_TRANSITION`. */
const REJECTED: Readonly<Record<string, readonly StoredAccount["status"][]>> = {
  "account.enable": [],
  "account.disable": ["archived"],
  "account.close_only": ["disabled", "archived"],
  "account.archive": [],
};
const STATUS_AFTER = {
  "account.enable": "active",
  "account.disable": "disabled",
  "account.close_only": "close_only",
  "account.archive": "archived",
} as const;
const EVENT_OF = {
  active: "account.enabled",
  disabled: "account.disabled",
  close_only: "account.close_only",
  archived: "account.archived",
} as const;
const RECORD_TIMES = {
  transaction: "recordedAt",
  order: "createdAt",
  position: "openedAt",
  deal: "executedAt",
} as const;

/** Carries out any command but a creation. Every command on a deleted account fails. */
export function carryOut(
  state: FakeState,
  account: StoredAccount,
  operation: string,
  body: Json,
  commandId: string,
): CommandOutcome {
  if (account.status === "deleted") return { errorCode: "ACCOUNT_NOT_FOUND" };
  switch (operation) {
    case "account.update":
      return update(state, account, body);
    case "account.enable":
    case "account.close_only":
    case "account.archive":
      return changeStatus(state, account, operation);
    case "account.disable":
      return disable(state, account, body);
    case "account.flatten":
      return { result: flatten(state, account) };
    case "risk.set_rules":
      return setRules(state, account, body["rules"] as readonly Rule[], commandId);
    case "risk.delete_rules":
      return setRules(state, account, [], commandId);
    case "account.delete":
      return deleteAccount(state, account);
    case "account.password_reset":
    case "account.investor_password_reset":
      return { result: { changedAt: state.now() } };
    case "account.history_export":
      return { result: exportHistory(account, body) };
    case "finance.deposit":
      return book(state, account, "deposit", minorOf(Number(body["amount"])), body, commandId);
    case "finance.withdraw":
      return withdraw(state, account, body, commandId);
    default:
      return { errorCode: "INTERNAL" };
  }
}

function update(state: FakeState, account: StoredAccount, body: Json): CommandOutcome {
  if (body["accountName"] !== undefined) account.accountName = body["accountName"] as string;
  if (body["leverage"] !== undefined) account.leverage = Number(body["leverage"]);
  account.version += 1;
  state.announce("account.updated", account, state.accountData(account));
  return { result: { accountName: account.accountName, leverage: account.leverage, version: account.version } };
}

function changeStatus(state: FakeState, account: StoredAccount, operation: keyof typeof STATUS_AFTER): CommandOutcome {
  const status = STATUS_AFTER[operation];
  const isCloseOnly = status === "close_only";
  if (account.status === status) {
    return { result: { status, changed: false, ...(isCloseOnly ? { cancelled: [] } : {}) } };
  }
  if (REJECTED[operation]?.includes(account.status) === true) return { errorCode: "INVALID_STATE_TRANSITION" };
  if (status === "archived" && openPositions(account) > 0) return { errorCode: "ACCOUNT_HAS_OPEN_POSITIONS" };
  const cancelled = isCloseOnly || status === "archived" ? cancelOrders(state, account) : [];
  account.status = status;
  account.version += 1;
  state.announce(EVENT_OF[status], account, state.accountData(account));
  return { result: { status, changed: true, ...(isCloseOnly ? { cancelled } : {}) } };
}

function disable(state: FakeState, account: StoredAccount, body: Json): CommandOutcome {
  const disabled = changeStatus(state, account, "account.disable");
  if (body["flatten"] !== true || !("result" in disabled)) return disabled;
  return { result: { ...disabled.result, ...flatten(state, account) } };
}

/**
 * Cancels all pending orders and closes all positions. The last closed position books the profit of
 * the whole account.
 */
function flatten(state: FakeState, account: StoredAccount): Json {
  const cancelled = cancelOrders(state, account);
  const open = account.positions.filter((position) => position["status"] === "open");
  const closed = open.map((position, index) => {
    const price = Number(position["openPrice"]);
    const profitMinor = index === open.length - 1 ? account.profitMinor : 0;
    const positionId = String(position["id"]);
    return { positionId, dealIds: [closePosition(state, account, positionId, { price, profitMinor })], price };
  });
  if (closed.length > 0) account.profitMinor = 0;
  return { closed, cancelled };
}

/** Cancels all pending orders, and returns their ids. */
function cancelOrders(state: FakeState, account: StoredAccount): string[] {
  const pending = account.orders.filter((order) => order["status"] === "placed");
  for (const order of pending) {
    order["status"] = "cancelled";
    state.announce("order.cancelled", account, order);
  }
  return pending.map((order) => String(order["id"]));
}

function deleteAccount(state: FakeState, account: StoredAccount): CommandOutcome {
  if (openPositions(account) > 0) return { errorCode: "ACCOUNT_HAS_OPEN_POSITIONS" };
  return { result: deleteImmediately(state, account) };
}

/**
 * Cancels all orders, closes all positions and deletes the account, unless it is already deleted.
 * Returns the body of the API's response.
 */
export function deleteImmediately(state: FakeState, account: StoredAccount): Json {
  if (account.status !== "deleted") {
    flatten(state, account);
    account.status = "deleted";
    state.announce("account.deleted", account, state.accountData(account));
  }
  return { accountNumber: account.accountNumber, deleted: true };
}

function withdraw(state: FakeState, account: StoredAccount, body: Json, commandId: string): CommandOutcome {
  const amountMinor = minorOf(Number(body["amount"]));
  const free = Math.min(account.balanceMinor, account.balanceMinor + account.profitMinor);
  if (amountMinor > free) return { errorCode: "INSUFFICIENT_FUNDS" };
  return book(state, account, "withdrawal", -amountMinor, body, commandId);
}

function book(
  state: FakeState,
  account: StoredAccount,
  type: string,
  amountMinor: number,
  body: Json,
  commandId: string,
): CommandOutcome {
  if (account.status === "archived") return { errorCode: "ACCOUNT_ARCHIVED" };
  const description = (body["description"] as string | undefined) ?? null;
  const transaction = state.book(account, {
    type,
    amountMinor,
    description,
    requestId: String(body["requestId"]),
    commandId,
  });
  return { result: { transactionId: transaction["id"], balanceAfter: transaction["balanceAfter"] } };
}

function exportHistory(account: StoredAccount, body: Json): Json {
  const {
    from = null,
    to = null,
    limit = 1_000,
  } = body as { from?: string | null; to?: string | null; limit?: number };
  const records = [
    ...account.transactions.map((record) => ({ ...record, kind: "transaction" as const })),
    ...account.orders.map((record) => ({ ...record, kind: "order" as const })),
    ...account.positions.map((record) => ({ ...record, kind: "position" as const })),
    ...account.deals.map((record) => ({ ...record, dealKind: record["kind"], kind: "deal" as const })),
  ];
  const timeOf = (record: Json): string => String(record[RECORD_TIMES[record["kind"] as keyof typeof RECORD_TIMES]]);
  const matching = records
    .filter((record) => (from === null || timeOf(record) >= from) && (to === null || timeOf(record) <= to))
    .sort((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1));
  const shown = matching.slice(0, limit);
  return { from, to, recordCount: shown.length, truncated: matching.length > shown.length, records: shown };
}

function openPositions(account: StoredAccount): number {
  return account.positions.filter((position) => position["status"] === "open").length;
}

/** The record of an account as the API shows it. */
export function accountView(state: FakeState, account: StoredAccount): Json {
  const equityMinor = account.balanceMinor + account.profitMinor;
  return {
    id: account.id,
    organizationId: state.organizationId,
    serverId: account.serverId,
    accountNumber: account.accountNumber,
    accountName: account.accountName,
    status: account.status,
    statusReason: null,
    environment: "demo",
    currency: "USD",
    currencySymbol: "$",
    leverage: account.leverage,
    initialBalance: amountOf(account.initialBalanceMinor),
    balance: amountOf(account.balanceMinor),
    equity: amountOf(equityMinor),
    usedMargin: 0,
    freeMargin: amountOf(equityMinor),
    marginLevel: null,
    unrealizedProfit: amountOf(account.profitMinor),
    openPositionCount: openPositions(account),
    metricsSequence: 0,
    metricsMeasuredAt: state.now(),
    version: account.version,
    createdAt: account.createdAt,
    updatedAt: state.now(),
    activatedAt: account.createdAt,
    disabledAt: null,
    archivedAt: null,
  };
}

/** A position that a test opens. */
export interface NewPosition {
  readonly symbol?: string;
  readonly side?: "buy" | "sell";
  /** Lots. */
  readonly volume?: number;
  readonly openPrice?: number;
}

/** A pending order that a test places. */
export interface NewOrder {
  readonly symbol?: string;
  readonly side?: "buy" | "sell";
  readonly orderType?: "limit" | "stop";
  /** Lots. */
  readonly volume?: number;
}

/**
 * Places a pending order, which waits until it is cancelled. Returns its id.
 * @throws Error for an account that is not active.
 */
export function placeOrder(state: FakeState, account: StoredAccount, wanted: NewOrder): string {
  rejectInactive(account);
  const { symbol = "EURUSD", side = "buy", orderType = "limit", volume = 0.1 } = wanted;
  const id = randomUUID();
  const createdAt = state.now();
  account.orders.push({ id, symbol, side, orderType, volume, status: "placed", createdAt, executedAt: null });
  return id;
}

function rejectInactive({ accountNumber, status }: StoredAccount): void {
  if (status !== "active") throw new Error(`account ${accountNumber} is ${status}: it accepts no new order`);
}

/**
 * Opens a position, with its order and its deal. Returns the id of the position.
 * @throws Error for an account that is not active.
 */
export function openPosition(state: FakeState, account: StoredAccount, wanted: NewPosition): string {
  rejectInactive(account);
  const { symbol = "EURUSD", side = "buy", volume = 0.1, openPrice = 1.1 } = wanted;
  const [id, orderId] = [randomUUID(), randomUUID()];
  const at = state.now();
  const order = {
    id: orderId,
    symbol,
    side,
    orderType: "market",
    volume,
    status: "executed",
    createdAt: at,
    executedAt: at,
  };
  const position = {
    id,
    orderId,
    symbol,
    side,
    volume,
    closedVolume: 0,
    openPrice,
    status: "open",
    openedAt: at,
    closedAt: null,
  };
  account.orders.push(order);
  account.positions.push(position);
  account.deals.push(dealOf(position, { kind: "entry", price: openPrice, realizedPnl: 0, at }));
  state.announce("order.executed", account, order);
  state.announce("position.opened", account, position);
  return id;
}

/**
 * Closes a position and books its profit, in cents. Returns the id of the closing deal.
 * @throws Error for a position that is not open.
 */
export function closePosition(
  state: FakeState,
  account: StoredAccount,
  positionId: string,
  { price = 1.1, profitMinor = 0 }: { readonly price?: number; readonly profitMinor?: number },
): string {
  const position = account.positions.find((found) => found["id"] === positionId && found["status"] === "open");
  if (position === undefined) throw new Error(`position ${positionId} is not open`);
  const at = state.now();
  Object.assign(position, { status: "closed", closedVolume: position["volume"], closedAt: at });
  const deal = dealOf(position, { kind: "exit", price, realizedPnl: amountOf(profitMinor), at });
  account.deals.push(deal);
  if (profitMinor !== 0) state.book(account, { type: "realized_pnl", amountMinor: profitMinor, positionId });
  const dealIds = account.deals.filter((deal) => deal["positionId"] === positionId).map((deal) => deal["id"]);
  const openPositionCount = account.positions.filter((found) => found["status"] === "open").length;
  state.announce("position.closed", account, { ...position, dealIds, openPositionCount });
  return deal.id;
}

function dealOf(
  position: Json,
  { kind, price, realizedPnl, at }: { kind: string; price: number; realizedPnl: number; at: string },
): Record<string, unknown> & { readonly id: string } {
  const { orderId, id: positionId, symbol, side, volume } = position;
  const costs = { commission: 0, realizedPnl, swap: 0 };
  return { id: randomUUID(), orderId, positionId, symbol, side, kind, volume, price, ...costs, executedAt: at };
}
