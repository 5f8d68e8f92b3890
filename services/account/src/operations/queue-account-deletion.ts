import type { QueuedOperation } from "../domain/account-change.ts";
import { ACCOUNT_MOVES } from "../domain/account-status.ts";
import { refusal } from "../domain/refusals.ts";

/**
 * Deletes an account without open positions. Once the trading server has done it, everything known
 * of the account is removed before the command succeeds, as by the immediate deletion
 * (decisions, 4.8).
 */
export const queueAccountDeletion: QueuedOperation = {
  operation: "account.delete",
  fact: null,
  // There is none afterwards.
  changesHistory: false,
  plan(_message, account) {
    const verdict = ACCOUNT_MOVES.startDeletion.from[account.status];
    if (verdict !== "moves" && verdict !== "already") return refusal(verdict);
    return { kind: "send", change: { type: "delete", closePositions: false } };
  },
  effect: (_message, event, nowIso) => ({ made: event !== null, at: event?.occurredAt ?? nowIso }),
  result: ({ account }) => ({ accountNumber: account.accountNumber, deleted: true }),
};
