/** Changes of existing accounts, between a command, the trading server and the account's row. */
import type {
  Actor,
  CommandErrorCode,
  CommandMessage,
  CommandOperation,
  StoredCommandMessage,
  TradingEvent,
} from "@kapi/contracts";
import type { TradingStatus } from "@kapi/trading-server";

import type { Account, ServerConfiguration } from "./account.ts";

export type PasswordKind = "trading" | "investor";

/** What the trading server is to do to an account. */
export type AccountChange =
  | { readonly type: "update"; readonly accountName?: string; readonly leverage?: number }
  | { readonly type: "set_status"; readonly status: TradingStatus }
  | { readonly type: "set_password"; readonly passwordKind: PasswordKind; readonly password: string }
  | { readonly type: "delete"; readonly closePositions: boolean };

/** A change with the reference under which it has one outcome, for good. */
export interface ReferencedChange {
  readonly reference: string;
  readonly accountNumber: string;
  readonly change: AccountChange;
  /** Who asked for it, where that is known. */
  readonly createdBy?: Actor | undefined;
  /** The span that the change is made in, if it belongs to a trace. */
  readonly traceparent?: string | undefined;
}

/** The final outcome of a reference. `event` is null where the account already was so. */
export type ChangeOutcome =
  | { readonly kind: "applied"; readonly event: TradingEvent | null }
  | {
      readonly kind: "refused";
      readonly errorCode: CommandErrorCode;
      readonly reason: string;
    }
  | { readonly kind: "closed" };

/** Why a command is not carried out. */
export interface Refusal {
  readonly errorCode: CommandErrorCode;
  readonly errorMessage: string;
}

/** What a command asks for, as the account and its server are now. */
export type ChangePlan =
  | { readonly kind: "send"; readonly change: AccountChange }
  | ({ readonly kind: "refuse" } & Refusal);

/**
 * What an applied change does to the account's row. Where a field is left out, the row keeps it.
 */
export interface AccountEffect {
  /** The trading server made an event of it: it changed something, whatever the row says. */
  readonly made: boolean;
  readonly at: string;
  readonly accountName?: string;
  readonly leverage?: number;
  readonly status?: TradingStatus;
  readonly passwordKind?: PasswordKind;
}

/** The account as it is after the effect, and whether that was a change. */
export interface ChangedAccount {
  readonly account: Account;
  readonly changed: boolean;
}

/** Facts that a change makes. */
export type ChangeFact =
  | "account.updated"
  | "account.enabled"
  | "account.disabled"
  | "account.archived"
  | "account.password_changed";

/**
 * A queued operation on one existing account. Deletion has no effect of its own: the row is marked.
 */
export interface QueuedOperation {
  readonly operation: CommandOperation;
  /** Null for the deletion, whose fact is recorded when the account is marked. */
  readonly fact: ChangeFact | null;
  /**
   * The trading server does more than it answers, as cancelling orders: the command ends once that
   * is booked.
   */
  readonly changesHistory: boolean;
  plan(message: CommandMessage, account: Account, server: ServerConfiguration): ChangePlan;
  /** The effect of the applied change; `nowIso` where the trading server made no event. */
  effect(message: StoredCommandMessage, event: TradingEvent | null, nowIso: string): AccountEffect;
  /** The command's result (decisions, 3.5). */
  result(after: ChangedAccount, at: string): Record<string, unknown>;
}
