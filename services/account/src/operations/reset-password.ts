/** What both password resets have in common. */
import type { CommandMessage } from "@kapi/contracts";

import type { PasswordKind, QueuedOperation } from "../domain/account-change.ts";
import { CHANGE_REFUSALS } from "../domain/account-status.ts";
import { refusal } from "../domain/refusals.ts";

/**
 * The password that a command gives: the supplied one, opened, or the one derived from the command
 * (decisions, 5.2).
 */
export type PasswordOf = (message: CommandMessage, kind: PasswordKind) => string;

const OPERATIONS = { trading: "account.password_reset", investor: "account.investor_password_reset" } as const;

/** The queued operation that sets the password of one kind. */
export function resetPassword(kind: PasswordKind, passwordOf: PasswordOf): QueuedOperation {
  return {
    operation: OPERATIONS[kind],
    fact: "account.password_changed",
    changesHistory: false,
    plan(message, account) {
      const refused = CHANGE_REFUSALS[account.status];
      if (refused !== null) return refusal(refused);
      const password = passwordOf(message, kind);
      return { kind: "send", change: { type: "set_password", passwordKind: kind, password } };
    },
    // A new password is a change also where the trading server makes no event of it.
    effect: (_message, event, nowIso) => ({ made: true, at: event?.occurredAt ?? nowIso, passwordKind: kind }),
    result: (_after, at) => ({ changedAt: at }),
  };
}
