import type { QueuedOperation } from "../domain/account-change.ts";
import { ACCOUNT_MOVES } from "../domain/account-status.ts";
import { rejection } from "../domain/rejections.ts";

/**
 * Deletes an account without open positions. When the trading server has deleted the account, its
 * data is removed or hidden as in the immediate deletion (decisions, 4.8). Then the command
 * succeeds.
 */
export const queueAccountDeletion: QueuedOperation = {
  operation: "account.delete",
  eventType: null,
  // The deletion removes the history anyway.
  changesHistory: () => false,
  plan(_message, account) {
    const outcome = ACCOUNT_MOVES.startDeletion.from[account.status];
    if (outcome !== "moves" && outcome !== "already") return rejection(outcome);
    return { kind: "send", change: { type: "delete", closePositions: false } };
  },
  effect: (_message, event, nowIso) => ({ made: event !== null, at: event?.occurredAt ?? nowIso }),
  result: ({ account }) => ({ accountNumber: account.accountNumber, deleted: true }),
};
