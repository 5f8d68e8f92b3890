import type { StoredCommandMessage } from "@kapi/contracts";
import { assert } from "@kapi/kernel";

import type { ChangePlan, QueuedOperation } from "../domain/account-change.ts";
import { CHANGE_REJECTIONS } from "../domain/account-status.ts";
import { rejection } from "../domain/rejections.ts";

/**
 * Changes name, leverage or both. The leverage is checked against the server's current list, which
 * may have changed since the request was accepted (decisions, 4.6).
 */
export const updateTradingAccount: QueuedOperation = {
  operation: "account.update",
  eventType: "account.updated",
  changesHistory: () => false,
  plan(message, account, server): ChangePlan {
    const refused = CHANGE_REJECTIONS[account.status];
    if (refused !== null) return rejection(refused);
    const { accountName, leverage } = wantedBy(message);
    if (leverage !== undefined && !server.supportedLeverage.includes(leverage)) {
      return rejection("LEVERAGE_NOT_SUPPORTED");
    }
    return {
      kind: "send",
      change: {
        type: "update",
        ...(accountName === undefined ? {} : { accountName }),
        ...(leverage === undefined ? {} : { leverage }),
      },
    };
  },
  effect(message, event, nowIso) {
    if (event?.type === "account.updated") {
      const { accountName, leverage, occurredAt } = event;
      return { made: true, at: occurredAt, accountName, leverage };
    }
    const { accountName, leverage } = wantedBy(message);
    return {
      made: false,
      at: nowIso,
      ...(accountName === undefined ? {} : { accountName }),
      ...(leverage === undefined ? {} : { leverage }),
    };
  },
  result({ account }) {
    return { accountName: account.accountName, leverage: account.leverage, version: account.version };
  },
};

/** The requested name and leverage; empty for an unreadable message. */
function wantedBy(message: StoredCommandMessage): { accountName?: string | undefined; leverage?: number | undefined } {
  assert(message.operation === "account.update", "the message must be an update");
  return message.payload;
}
