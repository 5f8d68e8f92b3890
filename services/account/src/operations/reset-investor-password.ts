import type { QueuedOperation } from "../domain/account-change.ts";
import { type PasswordOf, resetPassword } from "./reset-password.ts";

/** Gives the account a new investor password, which may look and not trade. */
export function resetInvestorPassword(passwordOf: PasswordOf): QueuedOperation {
  return resetPassword("investor", passwordOf);
}
