import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queuePasswordReset } from "./queue-password-reset.ts";

/** POST password-reset: queues account.password_reset; the answer shows the new password. */
export function resetTradingPassword(needs: Needs): Operation {
  return queuePasswordReset(needs, "account.password_reset", "trading");
}
