import type { QueuedOperation } from "../domain/account-change.ts";
import { type PasswordOf, resetPassword } from "./reset-password.ts";

/** Sets a new trading password; the old one stops working. */
export function resetTradingPassword(passwordOf: PasswordOf): QueuedOperation {
  return resetPassword("trading", passwordOf);
}
