/** Changes of existing accounts, as commands, trading servers and account rows need them. */
import type {
  Actor,
  CommandErrorCode,
  CommandMessage,
  CommandOperation,
  Flattened,
  StoredCommandMessage,
  TradingEvent,
} from "@kapi/contracts";
import type { TradingStatus } from "@kapi/trading-server";

import type { Account, ServerConfiguration } from "./account.ts";

export type PasswordKind = "trading" | "investor";

/** A change for the trading server. */
export type AccountChange =
  | { readonly type: "update"; readonly accountName?: string; readonly leverage?: number }
  | { readonly type: "set_status"; readonly status: TradingStatus; readonly flatten?: true }
  | { readonly type: "flatten" }
  | { readonly type: "set_password"; readonly passwordKind: PasswordKind; readonly password: string }
  | { readonly type: "delete"; readonly closePositions: boolean };

/** A change with its reference, which has one final outcome. */
export interface ReferencedChange {
  readonly reference: string;
  readonly accountNumber: string;
  readonly change: AccountChange;
  /** The caller, if known. */
  readonly createdBy?: Actor | undefined;
  /** The span of the change, if its trace is sampled. */
  readonly traceparent?: string | undefined;
}

/** The outcome of a reference, final except `incomplete`. `event` is null if nothing changed. */
export type ChangeOutcome =
  | { readonly kind: "applied"; readonly event: TradingEvent | null }
  | {
      readonly kind: "refused";
      readonly errorCode: CommandErrorCode;
      readonly reason: string;
    }
  | { readonly kind: "closed" }
  /** A part of the change cannot be applied now: the same change is sent again later. */
  | { readonly kind: "incomplete"; readonly reason: string };

/** Why a command is rejected. */
export interface Rejection {
  readonly errorCode: CommandErrorCode;
  readonly errorMessage: string;
}

/** The plan of a command, given the current account and server. */
export type ChangePlan =
  | { readonly kind: "send"; readonly change: AccountChange }
  | ({ readonly kind: "refuse" } & Rejection);

/** The effect of an applied change on the account's row. Omitted fields are unchanged. */
export interface AccountEffect {
  /**
   * Whether the trading server changed a field or password of the account, also if the row already
   * has the new values. Closed positions and cancelled orders do not count.
   */
  readonly made: boolean;
  readonly at: string;
  readonly accountName?: string;
  readonly leverage?: number;
  readonly status?: TradingStatus;
  /** Why the account has this status; a new status without a reason clears the earlier reason. */
  readonly statusReason?: string;
  readonly passwordKind?: PasswordKind;
  /** What the change closed and cancelled, if the command's result reports it. */
  readonly flattened?: Partial<Flattened>;
}

/** The account after the effect, and whether the effect changed it. */
export interface ChangedAccount {
  readonly account: Account;
  readonly changed: boolean;
}

/** Types of the events that a change publishes. */
export type ChangeEventType =
  | "account.updated"
  | "account.enabled"
  | "account.close_only"
  | "account.disabled"
  | "account.archived"
  | "account.password_changed";

/** A queued operation on one existing account. A deletion changes no field: it marks the row. */
export interface QueuedOperation {
  readonly operation: CommandOperation;
  /**
   * Null for a deletion and a flatten. The event of a deletion is recorded when the account is
   * marked `deleted`. A flatten has only events of the history.
   */
  readonly eventType: ChangeEventType | null;
  /**
   * Whether the change also makes events of the history, such as cancelled orders. The command
   * completes after these events are booked.
   */
  changesHistory(message: StoredCommandMessage): boolean;
  /**
   * Whether these events also move money. The command completes after finance has booked them.
   * Absent: no.
   */
  movesMoney?(message: StoredCommandMessage): boolean;
  plan(message: CommandMessage, account: Account, server: ServerConfiguration): ChangePlan;
  /** The effect of the applied change. Its time is `nowIso` if the trading server made no event. */
  effect(message: StoredCommandMessage, event: TradingEvent | null, nowIso: string): AccountEffect;
  /**
   * The effect of a change that the trading server rejected with this code after it had applied a
   * part of the change; null if this code means that no part was applied. Absent: the change is
   * never applied in part.
   */
  partialEffect?(message: StoredCommandMessage, errorCode: CommandErrorCode, nowIso: string): AccountEffect | null;
  /** The command's result (decisions, 3.5). */
  result(after: ChangedAccount, effect: AccountEffect): Record<string, unknown>;
}
