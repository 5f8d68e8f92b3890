/**
 * What enabling, disabling and archiving have in common: one move of the state table, told to the
 * trading server.
 */
import { assert } from "@kapi/kernel";

import type { QueuedOperation } from "../domain/account-change.ts";
import { ACCOUNT_MOVES } from "../domain/account-status.ts";
import { refusal } from "../domain/refusals.ts";

/** Moves of the table that a caller asks for and the trading server carries out as a status. */
const MOVES = {
  enable: { operation: "account.enable", fact: "account.enabled", status: "active", changesHistory: false },
  disable: { operation: "account.disable", fact: "account.disabled", status: "disabled", changesHistory: false },
  // It cancels the pending orders.
  archive: { operation: "account.archive", fact: "account.archived", status: "archived", changesHistory: true },
} as const;

/**
 * The queued operation that makes a move. What already is so is sent too: the trading server has
 * the last word on whether anything changes, and answers that nothing did.
 */
export function changeAccountStatus(move: keyof typeof MOVES): QueuedOperation {
  const { operation, fact, status, changesHistory } = MOVES[move];
  assert(ACCOUNT_MOVES[move].to === status, "the status is the one that the table leads to");
  return {
    operation,
    fact,
    changesHistory,
    plan(_message, account) {
      const verdict = ACCOUNT_MOVES[move].from[account.status];
      if (verdict !== "moves" && verdict !== "already") return refusal(verdict);
      return { kind: "send", change: { type: "set_status", status } };
    },
    effect: (_message, event, nowIso) => ({ made: event !== null, at: event?.occurredAt ?? nowIso, status }),
    result: ({ changed }) => ({ status, changed }),
  };
}
