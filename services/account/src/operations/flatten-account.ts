import type { QueuedOperation } from "../domain/account-change.ts";
import { CHANGE_REJECTIONS } from "../domain/account-status.ts";
import { rejection } from "../domain/rejections.ts";

/**
 * Closes all positions of an account at the market, and cancels its pending orders. While a market
 * is closed the command is retried. The trading server records closed positions under the command's
 * reference, so the result lists the positions that any attempt closed (decisions, 15.8).
 */
export const flattenAccount: QueuedOperation = {
  operation: "account.flatten",
  // Each closed position and cancelled order has its own event.
  eventType: null,
  changesHistory: () => true,
  movesMoney: () => true,
  plan(_message, account) {
    const refused = CHANGE_REJECTIONS[account.status];
    return refused === null ? { kind: "send", change: { type: "flatten" } } : rejection(refused);
  },
  effect(_message, event, nowIso) {
    const at = event?.occurredAt ?? nowIso;
    if (event?.type !== "account.flattened") return { made: false, at };
    return { made: false, at, flattened: { closed: event.closed, cancelled: event.cancelled } };
  },
  // Some positions were perhaps closed: their events are booked before the command fails.
  partialEffect: (_message, errorCode, nowIso) =>
    errorCode === "ACCOUNT_HAS_OPEN_POSITIONS" ? { made: false, at: nowIso } : null,
  result: (_after, { flattened = { closed: [], cancelled: [] } }) => ({ ...flattened }),
};
