import type { StoredCommandMessage } from "@kapi/contracts";
import { assert } from "@kapi/kernel";

import type { ChangePlan, QueuedOperation } from "../domain/account-change.ts";
import { CHANGE_REFUSALS } from "../domain/account-status.ts";
import { refusal } from "../domain/refusals.ts";

/**
 * Changes name, leverage or both. The leverage is checked against the server's list as it is now:
 * the list may have changed since the request was accepted (decisions, 4.6).
 */
export const updateTradingAccount: QueuedOperation = {
  operation: "account.update",
  fact: "account.updated",
  changesHistory: false,
  plan(message, account, server): ChangePlan {
    const refused = CHANGE_REFUSALS[account.status];
    if (refused !== null) return refusal(refused);
    const { accountName, leverage } = wantedBy(message);
    if (leverage !== undefined && !server.supportedLeverage.includes(leverage)) {
      return refusal("LEVERAGE_NOT_SUPPORTED");
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

/** The new name and leverage; neither of a message that could not be read. */
function wantedBy(message: StoredCommandMessage): { accountName?: string | undefined; leverage?: number | undefined } {
  assert(message.operation === "account.update", "an update is asked for");
  return message.payload;
}
