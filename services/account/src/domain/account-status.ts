import { ACCOUNT_STATUSES, type AccountStatus, type CommandErrorCode } from "@kapi/contracts";

/** Status of an account's row: those that the API shows, and `deleted`, which no read gives. */
export type StoredStatus = AccountStatus | "deleted";
export const STORED_STATUSES: readonly StoredStatus[] = [...ACCOUNT_STATUSES, "deleted"];

/** A change of an account's status, by what causes it. */
export type AccountMove =
  | "activate"
  | "fail"
  | "enable"
  | "disable"
  | "archive"
  | "startDeletion"
  | "startImmediateDeletion"
  | "finishDeletion";

/**
 * What a move does to an account: it moves; it already is so, and nothing happens; or the error of
 * the command.
 */
export type MoveVerdict = "moves" | "already" | CommandErrorCode;

/** Where a move leads, and what it does from each status. */
export interface MoveRule {
  readonly to: StoredStatus;
  readonly from: Readonly<Record<StoredStatus, MoveVerdict>>;
}

/** Nobody can do anything more to an account that is being deleted. */
const GONE = { deleting: "ACCOUNT_NOT_FOUND", deleted: "ACCOUNT_NOT_FOUND" } as const;
/** An account that the trading server never opened cannot be enabled, disabled or archived. */
const NEVER_OPENED = { pending: "ACCOUNT_NOT_READY", failed: "INVALID_STATE_TRANSITION" } as const;

/**
 * The end of a creation: one that is run again finds its account moved on, and leaves it as it is.
 */
const END_OF_CREATION = {
  pending: "moves",
  active: "already",
  failed: "already",
  disabled: "already",
  archived: "already",
  deleting: "already",
  deleted: "already",
} as const;

/**
 * The life of an account as one table (decisions, 4.3 and 4.8). Open positions are not in it: the
 * trading server knows them, and refuses to archive or delete with ACCOUNT_HAS_OPEN_POSITIONS.
 * `startDeletion` is the queued deletion.
 */
export const ACCOUNT_MOVES: Readonly<Record<AccountMove, MoveRule>> = {
  activate: { to: "active", from: END_OF_CREATION },
  fail: { to: "failed", from: END_OF_CREATION },
  enable: {
    to: "active",
    from: { ...NEVER_OPENED, active: "already", disabled: "moves", archived: "moves", ...GONE },
  },
  disable: {
    to: "disabled",
    from: { ...NEVER_OPENED, active: "moves", disabled: "already", archived: "INVALID_STATE_TRANSITION", ...GONE },
  },
  archive: {
    to: "archived",
    from: { ...NEVER_OPENED, active: "moves", disabled: "moves", archived: "already", ...GONE },
  },
  startDeletion: {
    to: "deleting",
    from: {
      pending: "ACCOUNT_NOT_READY",
      active: "moves",
      failed: "moves",
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
      disabled: "INVALID_STATE_TRANSITION",
      archived: "INVALID_STATE_TRANSITION",
      deleting: "moves",
      deleted: "already",
    },
  },
};

/**
 * What an update or a password reset, which moves nothing, meets in each status; null: it is
 * carried out.
 */
export const CHANGE_REFUSALS: Readonly<Record<StoredStatus, CommandErrorCode | null>> = {
  pending: "ACCOUNT_NOT_READY",
  active: null,
  failed: "ACCOUNT_NOT_READY",
  disabled: null,
  archived: null,
  ...GONE,
};

/** The statuses that a move leads out of. */
export function startsOf(move: AccountMove): StoredStatus[] {
  return STORED_STATUSES.filter((status) => ACCOUNT_MOVES[move].from[status] === "moves");
}
