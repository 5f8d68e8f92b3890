/** The code that both password resets share. */
import type { CommandMessage } from "@kapi/contracts";

import type { PasswordKind, QueuedOperation } from "../domain/account-change.ts";
import { CHANGE_REJECTIONS } from "../domain/account-status.ts";
import { rejection } from "../domain/rejections.ts";

/**
 * The password of a command: supplied and decrypted, or derived from the command (decisions, 5.2).
 */
export type PasswordOf = (message: CommandMessage, kind: PasswordKind) => string;

const OPERATIONS = { trading: "account.password_reset", investor: "account.investor_password_reset" } as const;

/** The queued operation that sets a password. */
export function resetPassword(kind: PasswordKind, passwordOf: PasswordOf): QueuedOperation {
  return {
    operation: OPERATIONS[kind],
    eventType: "account.password_changed",
    changesHistory: () => false,
    plan(message, account) {
      const refused = CHANGE_REJECTIONS[account.status];
      if (refused !== null) return rejection(refused);
      const password = passwordOf(message, kind);
      return { kind: "send", change: { type: "set_password", passwordKind: kind, password } };
    },
    // A new password is a change even if the trading server makes no event.
    effect: (_message, event, nowIso) => ({ made: true, at: event?.occurredAt ?? nowIso, passwordKind: kind }),
    result: (_after, { at }) => ({ changedAt: at }),
  };
}
