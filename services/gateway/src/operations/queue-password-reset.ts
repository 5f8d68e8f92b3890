import { type CommandOperation, ResetPasswordBody } from "@kapi/contracts";
import type { PasswordPurpose } from "@kapi/kernel";

import type { Operation } from "./call.ts";
import { generatedPassword } from "./generated-password.ts";
import type { Needs } from "./needs.ts";
import { queueAccountCommand } from "./queue-account-command.ts";

/**
 * What both resets have in common: every answer carries the new password, that to a repeat too (decisions, 5.1). A
 * generated one is derived anew from the command id, with the key that the first request took; a supplied one is the request's own, which the fingerprint has
 * proved to be that of the first request. So it is kept nowhere.
 */
export function queuePasswordReset(
  needs: Needs,
  operation: Extract<CommandOperation, "account.password_reset" | "account.investor_password_reset">,
  purpose: PasswordPurpose,
): Operation {
  return queueAccountCommand(needs, {
    operation,
    body: ResetPasswordBody,
    everyTime: (commandId, keyId, body) => ({
      password: body.password ?? generatedPassword(needs, commandId, keyId, purpose),
    }),
  });
}
