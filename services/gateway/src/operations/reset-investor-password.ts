import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queuePasswordReset } from "./queue-password-reset.ts";

/** POST investor-password-reset: queues account.investor_password_reset; the answer shows the new password. */
export function resetInvestorPassword(needs: Needs): Operation {
  return queuePasswordReset(needs, "account.investor_password_reset", "investor");
}
