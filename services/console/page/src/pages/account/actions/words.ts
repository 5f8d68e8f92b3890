/** Actions on accounts in words: their buttons, their effects and their results. */
import type { AccountAction, AccountStatus, Command, ConsolePermission, TradingAccount } from "../../../api/shapes.ts";
import { sentence } from "../../../api/failure.ts";
import { credits as whole, money } from "../../../format.ts";

/** The actions that have a button; risk rules have an editor. */
export type ButtonAction = Exclude<AccountAction, "set-risk-rules" | "delete-risk-rules">;

/** The texts of an action that has a button of its own. */
export interface ActionWords {
  /** Label of the button. */
  readonly name: string;
  readonly permission: ConsolePermission;
  /** States of an account in which the button is shown. */
  readonly states: readonly AccountStatus[];
  readonly dangerous?: boolean;
  /** The question, without the account: "Deposit to". */
  readonly question: string;
  /** What the action does, in sentences. */
  readonly effect: (account: TradingAccount) => string;
}

const OPENED = ["active", "close_only", "disabled", "archived"] as const;
const FUNDABLE = ["active", "close_only", "disabled"] as const;
const TRADING = ["active", "close_only"] as const;

function positions({ openPositionCount: count }: TradingAccount): string {
  return count === 1 ? "1 open position" : `${whole(count)} open positions`;
}

/**
 * Every action with a button, in the order of the buttons. The type ensures that none is missing.
 */
export const ACTIONS: Readonly<Record<ButtonAction, ActionWords>> = {
  deposit: {
    name: "Deposit",
    permission: "money:move",
    states: FUNDABLE,
    question: "Deposit to",
    effect: () => "The amount is added to the balance.",
  },
  withdraw: {
    name: "Withdraw",
    permission: "money:move",
    states: FUNDABLE,
    question: "Withdraw from",
    effect: () => "The amount is taken from the balance. It may exceed neither the balance nor the free margin.",
  },
  disable: {
    name: "Disable",
    permission: "accounts:manage",
    states: TRADING,
    dangerous: true,
    question: "Disable",
    effect: ({ openPositionCount: count }) =>
      count === 0
        ? "The account accepts no orders."
        : `The account accepts no orders. ${count === 1 ? "Its open position stays" : `Its ${count} open positions stay`} open unless you close ${count === 1 ? "it" : "them"}.`,
  },
  enable: {
    name: "Enable",
    permission: "accounts:manage",
    states: ["close_only", "disabled", "archived"],
    question: "Enable",
    effect: () => "The account can trade again.",
  },
  "close-only": {
    name: "Close-only",
    permission: "accounts:manage",
    states: ["active"],
    dangerous: true,
    question: "Make close-only:",
    effect: (account) =>
      `Positions can be reduced and closed; none can be opened. Pending orders are cancelled. ` +
      `The account has ${positions(account)}.`,
  },
  flatten: {
    name: "Flatten",
    permission: "accounts:manage",
    states: OPENED,
    dangerous: true,
    question: "Flatten",
    effect: (account) => `Closes ${positions(account)} at the current price, and cancels all pending orders.`,
  },
  archive: {
    name: "Archive",
    permission: "accounts:manage",
    states: ["active", "close_only", "disabled"],
    dangerous: true,
    question: "Archive",
    effect: (account) =>
      account.openPositionCount === 0
        ? "The account accepts no orders. It can be enabled again."
        : `The trading server refuses to archive an account with ${positions(account)}. Flatten the account first.`,
  },
  "reset-password": {
    name: "Reset password",
    permission: "accounts:manage",
    states: OPENED,
    dangerous: true,
    question: "Reset the trading password of",
    effect: () =>
      "The trader's current password stops working. The new password is shown only to you, and is not stored.",
  },
  "reset-investor-password": {
    name: "Reset investor password",
    permission: "accounts:manage",
    states: OPENED,
    dangerous: true,
    question: "Reset the investor password of",
    effect: () =>
      "The current investor password stops working. The new password is shown only to you, and is not stored.",
  },
};

/** Whether the action has a button of its own. */
export function isButtonAction(action: string): action is ButtonAction {
  return Object.hasOwn(ACTIONS, action);
}

/** Label of the button that confirms an action; with the amount, unless `amount` is null. */
export function confirmText(action: ButtonAction, amount: number | null, currency: string): string {
  return amount === null ? ACTIONS[action].name : `${ACTIONS[action].name} ${money(amount, currency)}`;
}

/** Name of a started action: "Deposit of 100.00 USD". `fields` are those of its intent. */
export function actionText(action: ButtonAction, fields: Readonly<Record<string, unknown>>, currency: string): string {
  const { amount, flatten } = fields;
  if (typeof amount === "number") return `${ACTIONS[action].name} of ${money(amount, currency)}`;
  return flatten === true ? `${ACTIONS[action].name} and flatten` : ACTIONS[action].name;
}

const STATUS_TEXTS: Readonly<Record<string, string>> = {
  active: "The account is active.",
  close_only: "The account is close-only.",
  disabled: "The account is disabled.",
  archived: "The account is archived.",
};

/** What a succeeded command did, in sentences. */
export function resultText({ result }: Pick<Command, "result">, currency: string): string {
  const { balanceAfter, status, closed, cancelled } = result ?? {};
  const closings = Array.isArray(closed) ? [`Positions closed: ${closed.length}.`] : [];
  const cancellations = Array.isArray(cancelled) ? [`Orders cancelled: ${cancelled.length}.`] : [];
  return [
    ...(typeof balanceAfter === "number" ? [`The balance is now ${money(balanceAfter, currency)}.`] : []),
    ...(typeof status === "string" ? [STATUS_TEXTS[status] ?? ""] : []),
    ...closings,
    ...cancellations,
  ].join(" ");
}

/**
 * Why commands fail, and what to do. A code with several reasons, such as REJECTED_BY_SERVER, has
 * no text here: the command says its reason.
 */
const ERROR_TEXTS: Readonly<Record<string, string>> = {
  ACCOUNT_NOT_FOUND: "The account does not exist any more.",
  ACCOUNT_NOT_READY: "The account is still being created. Try again in a minute.",
  ACCOUNT_DISABLED: "The account is disabled. Enable it first.",
  ACCOUNT_ARCHIVED: "The account is archived. Enable it first.",
  ACCOUNT_HAS_OPEN_POSITIONS: "The account has open positions. Flatten it first.",
  INVALID_STATE_TRANSITION: "The state of the account does not allow this.",
  INSUFFICIENT_FUNDS: "The amount is above the balance or the free margin.",
  SERVER_DISABLED: "The server is disabled or was removed. A disabled server can be enabled on the page Servers.",
  SERVER_UNAVAILABLE: "The trading server was removed.",
  INTERNAL: "The action failed on our side. Contact your provider with the command id.",
};

/** Why a command failed or expired, in sentences. */
export function failureText({ operation, status, errorCode, errorMessage }: Command): string {
  if (status === "expired")
    return "The action was not carried out before its deadline, and will not be carried out later.";
  const hasSeveralReasons = errorCode === "INVALID_STATE_TRANSITION" && operation.startsWith("risk.");
  const text = hasSeveralReasons ? undefined : ERROR_TEXTS[errorCode ?? ""];
  return text ?? sentence(errorMessage ?? "it failed");
}
