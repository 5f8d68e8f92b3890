/** The operations that change the status: each is one transition, sent to the trading server. */
import { RISK_ACTOR, type StoredCommandMessage } from "@kapi/contracts";
import { assert } from "@kapi/kernel";

import type { QueuedOperation } from "../domain/account-change.ts";
import { ACCOUNT_MOVES } from "../domain/account-status.ts";
import { rejection } from "../domain/rejections.ts";

/** Transitions that a caller requests. Each is sent to the trading server as its target status. */
const MOVES = {
  enable: { operation: "account.enable", eventType: "account.enabled", status: "active", changesHistory: false },
  // Close-only and archiving cancel pending orders.
  closeOnly: {
    operation: "account.close_only",
    eventType: "account.close_only",
    status: "close_only",
    changesHistory: true,
  },
  disable: { operation: "account.disable", eventType: "account.disabled", status: "disabled", changesHistory: false },
  archive: { operation: "account.archive", eventType: "account.archived", status: "archived", changesHistory: true },
} as const;

/**
 * The queued operation of a transition. It is sent even if the status is already reached: the
 * trading server decides whether anything changes.
 */
export function changeAccountStatus(move: keyof typeof MOVES): QueuedOperation {
  const { operation, eventType, status, changesHistory } = MOVES[move];
  assert(ACCOUNT_MOVES[move].to === status, "the status must be the target of the transition");
  return {
    operation,
    eventType,
    changesHistory: (message) => changesHistory || isFlattened(message),
    movesMoney: isFlattened,
    plan(message, account) {
      const outcome = ACCOUNT_MOVES[move].from[account.status];
      if (outcome !== "moves" && outcome !== "already") return rejection(outcome);
      return {
        kind: "send",
        change: { type: "set_status", status, ...(isFlattened(message) ? { flatten: true } : {}) },
      };
    },
    effect(message, event, nowIso) {
      const moved = { at: event?.occurredAt ?? nowIso, status, ...reasonOf(message) };
      if (event?.type === "account.flattened") {
        const { closed, cancelled, previousStatus } = event;
        return { made: previousStatus !== status, ...moved, flattened: { closed, cancelled } };
      }
      const made = event !== null;
      if (status !== "close_only") return { made, ...moved };
      const cancelled = event?.type === "account.status_changed" ? event.cancelled : undefined;
      return { made, ...moved, flattened: { cancelled: cancelled ?? [] } };
    },
    // The account is disabled first, and stays so if positions cannot be closed.
    partialEffect: (message, errorCode, nowIso) =>
      isFlattened(message) && errorCode === "ACCOUNT_HAS_OPEN_POSITIONS"
        ? { made: false, at: nowIso, status, ...reasonOf(message) }
        : null,
    result: ({ changed }, { flattened }) => ({ status, changed, ...flattened }),
  };
}

/** Whether the command also closes all positions and cancels all pending orders. */
function isFlattened({ operation, payload }: StoredCommandMessage): boolean {
  return operation === "account.disable" && "flatten" in payload && payload.flatten === true;
}

/** The reason for the status: the breach of a risk rule. A caller gives no reason. */
function reasonOf({ createdBy, requestId }: StoredCommandMessage): { statusReason?: string } {
  if (createdBy?.type !== RISK_ACTOR.type || createdBy.id !== RISK_ACTOR.id) return {};
  return { statusReason: `A risk rule was breached: breach ${requestId}` };
}
