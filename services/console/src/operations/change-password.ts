import type { ChangePasswordBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { checkPassword, hashPassword } from "./check-password.ts";
import type { SignInDependencies } from "./sign-in.ts";
import { type OpenedSession, openSession, type SignedIn } from "./use-session.ts";

export interface ChangePassword extends ChangePasswordBody {
  /** Network address of the caller. */
  readonly address: string;
  readonly sessionId: string | null;
}

/**
 * Changes the password. All sessions end; a new one replaces this one. Throws 400 if the current
 * password is wrong, and 429 after too many failures, so that a session alone cannot guess it.
 */
export async function changePassword(
  context: SignInDependencies,
  { user }: SignedIn,
  wanted: ChangePassword,
): Promise<OpenedSession> {
  const { currentPassword, newPassword, address, sessionId } = wanted;
  const checked = await checkPassword(context, { email: user.email, password: currentPassword, address });
  if (checked === null) throw wrongPassword();
  const passwordHash = await hashPassword(context.passwords, newPassword);
  const { userId, organizationId } = user;
  const changed = await context.store.transaction(async (tx) => {
    // Succeeds only if the checked password is still set: one of two concurrent changes fails.
    const set = await tx.users.setPassword(userId, passwordHash, checked.passwordHash);
    const actor = { type: "user", id: userId } as const;
    const record = { actor, address, organizationId, action: "user.password_changed" as const, subject: actor };
    if (set !== null) tx.recordAudit([{ ...record, atMs: context.clock.nowMs() }]);
    return set;
  });
  if (changed === null) throw wrongPassword();
  return openSession(context, { ...user, sessionVersion: changed.sessionVersion }, sessionId);
}

function wrongPassword(): ApiError {
  const issue = { path: ["currentPassword"], code: "custom", message: "is not your password" };
  return new ApiError("VALIDATION_FAILED", { issues: [issue] });
}
