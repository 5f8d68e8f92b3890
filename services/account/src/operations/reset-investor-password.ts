import type { QueuedOperation } from "../domain/account-change.ts";
import { type PasswordOf, resetPassword } from "./reset-password.ts";

/** Sets a new investor password, which allows reading but no trading. */
export function resetInvestorPassword(passwordOf: PasswordOf): QueuedOperation {
  return resetPassword("investor", passwordOf);
}
