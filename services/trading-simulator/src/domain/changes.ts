/** Applies the changes of the contract to accounts, or rejects them (decisions, 4.3 and 6.1). */
import type { Flattened, TradingEvent } from "@kapi/contracts";
import type { Change, RejectionCode } from "@kapi/trading-server";

import { type Account, MAX_BALANCE_MINOR, createAccount } from "./account.ts";
import type { TradingContext } from "./trading-context.ts";
import { valueAccount } from "./account-values.ts";
import { closePriceOf } from "./prices.ts";
import { cancelAllOrders, closePosition } from "./trading.ts";

/**
 * `reason` of the orders that a flatten cancels, and of the orders by which it closes positions.
 */
const FLATTENED = "flattened";
/** Maximum number of ids in each list of the message of an incomplete change. */
const MAX_LISTED = 20;

/**
 * Hashes for a creation or a change of password, each `salt.hash` (password-hash.ts). A change of
 * password has hashes of the same new password in both fields.
 */
export interface PasswordHashes {
  readonly trading: string;
  readonly investor: string;
}

/** The inputs of the rules for a change. */
export interface ChangeInput {
  readonly serverId: string;
  readonly supportedLeverage: readonly number[];
  /** The account, also a deleted one; undefined: the number was never used. */
  readonly account: Account | undefined;
  /** For `create` and `set_password`. */
  readonly hashes: PasswordHashes | undefined;
}

export type ChangeResult =
  | { readonly applied: true; readonly account: Account; readonly event: TradingEvent | null }
  | { readonly applied: false; readonly code: RejectionCode; readonly message: string }
  | { readonly applied: "incomplete"; readonly account: Account; readonly message: string };

type ChangeOf<T extends Change["type"]> = Extract<Change, { type: T }>;

/**
 * Applies or rejects a change. A rejected call has no effect. An incomplete change has closed and
 * cancelled all that was possible. The next call with the change continues it, or rejects it if the
 * account's status no longer allows it.
 */
export function applyChange(context: TradingContext, input: ChangeInput, change: Change): ChangeResult {
  if (change.type === "create") return create(context, input, change);
  const { account } = input;
  if (account === undefined) return refused("ACCOUNT_NOT_FOUND", "there is no such account");
  if (change.type === "delete") return remove(context, account, change);
  if (account.status === "deleted") return refused("ACCOUNT_NOT_FOUND", "the account was deleted");
  switch (change.type) {
    case "balance":
      return changeBalance(context, account, change);
    case "update":
      return update(context, input, account, change);
    case "set_status":
      if (change.flatten === true && change.status === "disabled") {
        return flatten(context, account, change.reference, "disabled");
      }
      return setStatus(context, account, change);
    case "flatten":
      return flatten(context, account, change.reference, null);
    case "set_password":
      return setPassword(context, input, account, change);
  }
}

function create(context: TradingContext, input: ChangeInput, change: ChangeOf<"create">): ChangeResult {
  if (input.account !== undefined) return refused("ACCOUNT_EXISTS", "the account number was used before");
  if (!input.supportedLeverage.includes(change.leverage)) return leverageRejected(change.leverage);
  if (change.initialBalanceMinor > MAX_BALANCE_MINOR) return refused("INVALID_CHANGE", "the balance is too large");
  const { accountNumber, accountName, leverage, currency, initialBalanceMinor } = change;
  const account = createAccount({
    serverId: input.serverId,
    accountNumber,
    name: accountName,
    leverage,
    currency,
    balanceMinor: initialBalanceMinor,
    tradingPasswordHash: input.hashes?.trading ?? "",
    investorPasswordHash: input.hashes?.investor ?? "",
  });
  const body = { type: "account.created", accountName, leverage, currency, initialBalanceMinor } as const;
  return applied(account, context.emit(account, body, change.reference));
}

function changeBalance(context: TradingContext, account: Account, change: ChangeOf<"balance">): ChangeResult {
  if (account.status === "archived")
    return refused("ACCOUNT_ARCHIVED", "an archived account takes no deposit or withdrawal");
  const { kind, amountMinor, description } = change;
  if (kind === "withdrawal") {
    const available = Math.min(account.balanceMinor, valueAccount(context.prices, account).freeMarginMinor);
    if (amountMinor > available) return refused("INSUFFICIENT_FUNDS", "the amount is more than can be withdrawn");
  } else if (account.balanceMinor + amountMinor > MAX_BALANCE_MINOR) {
    return refused("INVALID_CHANGE", "the balance would be too large");
  }
  const signed = kind === "deposit" ? amountMinor : -amountMinor;
  account.balanceMinor += signed;
  account.netDepositsMinor += signed;
  const body = { type: "balance.changed", kind, amountMinor: signed, description } as const;
  return applied(account, context.emit(account, body, change.reference));
}

function update(
  context: TradingContext,
  input: ChangeInput,
  account: Account,
  change: ChangeOf<"update">,
): ChangeResult {
  const accountName = change.accountName ?? account.name;
  const leverage = change.leverage ?? account.leverage;
  if (accountName === account.name && leverage === account.leverage) return applied(account, null);
  if (leverage !== account.leverage) {
    if (!input.supportedLeverage.includes(leverage)) return leverageRejected(leverage);
    const after = valueAccount(context.prices, { ...account, leverage });
    if (after.marginMinor > 0 && after.freeMarginMinor < 0) {
      return refused(
        "INSUFFICIENT_FUNDS",
        "with this leverage the open positions need more margin than the account has",
      );
    }
  }
  account.name = accountName;
  account.leverage = leverage;
  return applied(account, context.emit(account, { type: "account.updated", accountName, leverage }, change.reference));
}

function setStatus(context: TradingContext, account: Account, change: ChangeOf<"set_status">): ChangeResult {
  const { status: previousStatus } = account;
  if (previousStatus === change.status) return applied(account, null);
  if (previousStatus === "deleted") return refused("ACCOUNT_NOT_FOUND", "the account was deleted");
  if (previousStatus === "archived" && change.status !== "active") {
    return refused("INVALID_STATE_TRANSITION", "an archived account can only be made active");
  }
  if (previousStatus === "disabled" && change.status === "close_only") {
    return refused("INVALID_STATE_TRANSITION", "a disabled account can only be made active or archived");
  }
  if (change.status === "archived") {
    if (account.positions.size > 0) return refused("ACCOUNT_HAS_OPEN_POSITIONS", "the account has open positions");
    cancelAllOrders(context, account, "account_archived");
  }
  // Every pending order of the simulator would open a position.
  const cancelled = change.status === "close_only" ? { cancelled: [...account.orders.keys()] } : {};
  if (change.status === "close_only") cancelAllOrders(context, account, "account_close_only");
  account.status = change.status;
  const body = { type: "account.status_changed", status: change.status, previousStatus, ...cancelled } as const;
  return applied(account, context.emit(account, body, change.reference));
}

/**
 * Closes all positions and cancels all pending orders; first sets the status, if one is given. A
 * position whose market is closed makes the change incomplete. The account keeps the closed
 * positions and cancelled orders of each reference, so that the final event has those of all
 * attempts.
 */
function flatten(
  context: TradingContext,
  account: Account,
  reference: string,
  status: "disabled" | null,
): ChangeResult {
  if (account.status === "deleted") return refused("ACCOUNT_NOT_FOUND", "the account was deleted");
  if (status !== null && account.status === "archived") {
    return refused("INVALID_STATE_TRANSITION", "an archived account can only be made active");
  }
  const done = (account.flattening[reference] ??= { closed: [], cancelled: [], previousStatus: account.status });
  if (status !== null && account.status !== status) {
    const previousStatus = account.status;
    account.status = status;
    context.emit(account, { type: "account.status_changed", status, previousStatus });
  }
  done.cancelled.push(...account.orders.keys());
  cancelAllOrders(context, account, FLATTENED);
  for (const position of account.positions.values()) {
    if (!context.prices.isOpen(position.symbol)) continue;
    const before = position.dealIds.length;
    closePosition(context, account, position, position.volume, FLATTENED);
    const price = closePriceOf(context.prices.quote(position.symbol), position.side);
    done.closed.push({ positionId: position.id, dealIds: position.dealIds.slice(before), price });
  }
  if (account.positions.size > 0) {
    context.touch(account);
    return { applied: "incomplete", account, message: progressOf(account, done) };
  }
  delete account.flattening[reference];
  const body = { type: "account.flattened", ...done, status: account.status } as const;
  return applied(account, context.emit(account, body, reference));
}

/** Ends an incomplete change with a rejection. Null if none has this reference. */
export function abandonFlattening(context: TradingContext, account: Account, reference: string): ChangeResult | null {
  const done = account.flattening[reference];
  if (done === undefined) return null;
  delete account.flattening[reference];
  context.touch(account);
  return refused("ACCOUNT_HAS_OPEN_POSITIONS", progressOf(account, done));
}

/** The finished part of an incomplete change, and the positions that are still open. */
function progressOf({ positions }: Account, { closed, cancelled }: Flattened): string {
  const open = Array.from(positions.values(), ({ id, symbol }) => `${id} (${symbol})`);
  return [
    `closed positions: ${listed(closed.map(({ positionId }) => positionId))}`,
    `cancelled orders: ${listed(cancelled)}`,
    `still open, because a market is closed: ${listed(open)}`,
  ].join("; ");
}

/** At most {@link MAX_LISTED} names. */
function listed(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : "";
  return names.slice(0, MAX_LISTED).join(", ") + more;
}

function setPassword(
  context: TradingContext,
  input: ChangeInput,
  account: Account,
  change: ChangeOf<"set_password">,
): ChangeResult {
  const { passwordKind } = change;
  if (passwordKind === "trading") account.tradingPasswordHash = input.hashes?.trading ?? "";
  else account.investorPasswordHash = input.hashes?.investor ?? "";
  return applied(account, context.emit(account, { type: "account.password_changed", passwordKind }, change.reference));
}

function remove(context: TradingContext, account: Account, change: ChangeOf<"delete">): ChangeResult {
  if (account.status === "deleted") return applied(account, null);
  if (account.positions.size > 0 && change.closePositions !== true) {
    return refused("ACCOUNT_HAS_OPEN_POSITIONS", "the account has open positions");
  }
  for (const position of account.positions.values()) {
    closePosition(context, account, position, position.volume, "account_deleted");
  }
  cancelAllOrders(context, account, "account_deleted");
  account.status = "deleted";
  account.tradingPasswordHash = "";
  account.investorPasswordHash = "";
  account.autoTrader = null;
  return applied(account, context.emit(account, { type: "account.deleted" }, change.reference));
}

function applied(account: Account, event: TradingEvent | null): ChangeResult {
  return { applied: true, account, event };
}

function refused(code: RejectionCode, message: string): ChangeResult {
  return { applied: false, code, message };
}

function leverageRejected(leverage: number): ChangeResult {
  return refused("LEVERAGE_NOT_SUPPORTED", `the server does not support the leverage ${leverage}`);
}
