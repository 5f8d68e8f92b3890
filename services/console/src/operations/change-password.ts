import type { ChangePasswordBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { ActiveUser } from "../domain/ports.ts";
import { checkPassword, hashPassword } from "./check-password.ts";
import { checkSecondFactor, type SecondFactorDependencies, wrongCode } from "./check-second-factor.ts";
import type { SignInDependencies } from "./sign-in.ts";
import { type OpenedSession, openSession, type SessionOrigin, type SignedIn } from "./use-session.ts";

/**
 * Changes the password. All sessions end, and a new session is opened. Throws as
 * {@link requireFactors} and {@link hashPassword}, and 400 if another call has just changed the
 * password.
 */
export async function changePassword(
  context: SignInDependencies,
  { user, proof }: SignedIn,
  { currentPassword, newPassword, code }: ChangePasswordBody,
  origin: SessionOrigin,
): Promise<OpenedSession> {
  const { address } = origin;
  const checked = await requireFactors(context, user, { currentPassword, code }, address);
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
  return openSession(context, { ...user, sessionVersion: changed.sessionVersion }, origin, proof);
}

/**
 * Checks the password of a person who is signed in and, if they have one, the second factor. Throws
 * 400 for a wrong password, and for a wrong or missing code. Throws 429 as {@link checkPassword}:
 * a stolen session must not allow unlimited guesses.
 */
export async function requireFactors(
  context: SecondFactorDependencies,
  user: ActiveUser,
  given: Pick<ChangePasswordBody, "currentPassword" | "code">,
  address: string,
): Promise<ActiveUser> {
  const claim = { email: user.email, password: given.currentPassword, address };
  const checked = await checkPassword(context, claim);
  if (checked === null) throw wrongPassword();
  if (!checked.twoFactor) return checked;
  if (given.code === undefined) throw missingCode();
  if ((await checkSecondFactor(context, checked, given.code, address)) === null) throw wrongCode(given.code);
  return checked;
}

function wrongPassword(): ApiError {
  const issue = { path: ["currentPassword"], code: "custom", message: "is not your password" };
  return new ApiError("VALIDATION_FAILED", { issues: [issue] });
}

function missingCode(): ApiError {
  const message = "is required: enter a code of your authenticator app, or a recovery code";
  return new ApiError("VALIDATION_FAILED", { issues: [{ path: ["code"], code: "custom", message }] });
}
