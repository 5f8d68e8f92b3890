import { ACCOUNT_STATUSES, type AccountStatus, type CommandErrorCode } from "@kapi/contracts";

/** Status of an account's row: the API's statuses, and `deleted`, which no read shows. */
export type StoredStatus = AccountStatus | "deleted";
export const STORED_STATUSES: readonly StoredStatus[] = [...ACCOUNT_STATUSES, "deleted"];

/** A status transition, named by its cause. */
export type AccountMove =
  | "activate"
  | "fail"
  | "enable"
  | "closeOnly"
  | "disable"
  | "archive"
  | "startDeletion"
  | "startImmediateDeletion"
  | "finishDeletion";

/** `moves`: the status changes; `already`: nothing changes; otherwise the error of the command. */
export type MoveOutcome = "moves" | "already" | CommandErrorCode;

/** The target status of a move, and its outcome from each status. */
export interface MoveRule {
  readonly to: StoredStatus;
  readonly from: Readonly<Record<StoredStatus, MoveOutcome>>;
}

/** Commands on a deleting or deleted account fail. */
const GONE = { deleting: "ACCOUNT_NOT_FOUND", deleted: "ACCOUNT_NOT_FOUND" } as const;
/** An account that was never opened cannot be enabled, made close-only, disabled or archived. */
const NEVER_OPENED = { pending: "ACCOUNT_NOT_READY", failed: "INVALID_STATE_TRANSITION" } as const;

/** A repeated creation does not change an account that has left `pending`. */
const END_OF_CREATION = {
  pending: "moves",
  active: "already",
  failed: "already",
  close_only: "already",
  disabled: "already",
  archived: "already",
  deleting: "already",
  deleted: "already",
} as const;

/**
 * All status transitions (decisions, 4.3 and 4.8). Open positions are not checked here: the trading
 * server knows them and rejects archiving or deleting with ACCOUNT_HAS_OPEN_POSITIONS.
 * `startDeletion` is the queued deletion.
 */
export const ACCOUNT_MOVES: Readonly<Record<AccountMove, MoveRule>> = {
  activate: { to: "active", from: END_OF_CREATION },
  fail: { to: "failed", from: END_OF_CREATION },
  enable: {
    to: "active",
    from: {
      ...NEVER_OPENED,
      active: "already",
      close_only: "moves",
      disabled: "moves",
      archived: "moves",
      ...GONE,
    },
  },
  closeOnly: {
    to: "close_only",
    from: {
      ...NEVER_OPENED,
      active: "moves",
      close_only: "already",
      // A disabled account accepts no order at all: close-only would allow more.
      disabled: "INVALID_STATE_TRANSITION",
      archived: "INVALID_STATE_TRANSITION",
      ...GONE,
    },
  },
  disable: {
    to: "disabled",
    from: {
      ...NEVER_OPENED,
      active: "moves",
      close_only: "moves",
      disabled: "already",
      archived: "INVALID_STATE_TRANSITION",
      ...GONE,
    },
  },
  archive: {
    to: "archived",
    from: {
      ...NEVER_OPENED,
      active: "moves",
      close_only: "moves",
      disabled: "moves",
      archived: "already",
      ...GONE,
    },
  },
  startDeletion: {
    to: "deleting",
    from: {
      pending: "ACCOUNT_NOT_READY",
      active: "moves",
      failed: "moves",
      close_only: "moves",
      disabled: "moves",
      archived: "moves",
      ...GONE,
    },
  },
  startImmediateDeletion: {
    to: "deleting",
    from: {
      pending: "moves",
      active: "moves",
      failed: "moves",
      close_only: "moves",
      disabled: "moves",
      archived: "moves",
      deleting: "already",
      deleted: "already",
    },
  },
  finishDeletion: {
    to: "deleted",
    from: {
      pending: "INVALID_STATE_TRANSITION",
      active: "INVALID_STATE_TRANSITION",
      failed: "INVALID_STATE_TRANSITION",
      close_only: "INVALID_STATE_TRANSITION",
      disabled: "INVALID_STATE_TRANSITION",
      archived: "INVALID_STATE_TRANSITION",
      deleting: "moves",
      deleted: "already",
    },
  },
};

/** The error of an update, a flatten or a password reset in each status; null if it is allowed. */
export const CHANGE_REJECTIONS: Readonly<Record<StoredStatus, CommandErrorCode | null>> = {
  pending: "ACCOUNT_NOT_READY",
  active: null,
  failed: "ACCOUNT_NOT_READY",
  close_only: null,
  disabled: null,
  archived: null,
  ...GONE,
};

/** The statuses from which a move changes the status. */
export function startsOf(move: AccountMove): StoredStatus[] {
  return STORED_STATUSES.filter((status) => ACCOUNT_MOVES[move].from[status] === "moves");
}
