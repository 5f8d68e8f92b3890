import type { QueuedOperation } from "../domain/account-change.ts";
import { type PasswordOf, resetPassword } from "./reset-password.ts";

/** Gives the account a new trading password: the old one logs in no more. */
export function resetTradingPassword(passwordOf: PasswordOf): QueuedOperation {
  return resetPassword("trading", passwordOf);
}
