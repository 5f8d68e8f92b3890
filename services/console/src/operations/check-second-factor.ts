import { createHash } from "node:crypto";

import { ApiError } from "@kapi/http";
import { type Clock, type Keyring, openPassword } from "@kapi/kernel";

import type { SecondFactors } from "../domain/people-ports.ts";
import type { ActiveUser, PeopleStore } from "../domain/ports.ts";
import { acceptTotpCode } from "../domain/totp.ts";
import { beginAttempt, failAttempt, takeBackAttempt, type PasswordCheckDependencies } from "./check-password.ts";

const TOTP_CODE = /^\d{6}$/;

/**
 * The dependencies for checking a code of the app or a recovery code. `store` uses a recovery code
 * up and records this in the audit log, in one transaction.
 */
export interface SecondFactorDependencies extends PasswordCheckDependencies {
  readonly store: PeopleStore;
  readonly clock: Clock;
  readonly secondFactors: SecondFactors;
  /** Decrypts the secrets of apps. Null: not configured, so no code of an app is accepted. */
  readonly sealingKeys: Keyring | null;
}

/** What proved who the person is: a code of the app, or a recovery code, which is used up. */
export type AcceptedFactor = "app" | "recovery code";

/**
 * Checks a code of the second factor, and uses it up. Returns null for a wrong or used code. Throws
 * 429 as {@link beginAttempt}: codes and passwords share the counts of failures.
 */
export async function checkSecondFactor(
  context: SecondFactorDependencies,
  user: ActiveUser,
  code: string,
  address: string,
): Promise<AcceptedFactor | null> {
  const attempt = await beginAttempt(context, user.email, address);
  const accepted = await useCode(context, user, code, address).catch(async (error: unknown) => {
    await takeBackAttempt(context, attempt, "undecided");
    throw error;
  });
  if (accepted === null) failAttempt(context, attempt, user);
  else await takeBackAttempt(context, attempt, "succeeded");
  return accepted;
}

async function useCode(
  { secondFactors, sealingKeys, store, clock }: SecondFactorDependencies,
  { userId, organizationId }: ActiveUser,
  code: string,
  address: string,
): Promise<AcceptedFactor | null> {
  if (TOTP_CODE.test(code)) {
    const stored = await secondFactors.read(userId);
    if (stored === null || !stored.isConfirmed || sealingKeys === null) return null;
    const secret = secretOf(sealingKeys, userId, stored.secret);
    const step = acceptTotpCode(secret, code, clock.nowMs(), stored.lastStep);
    return step !== null && (await secondFactors.useStep(userId, step)) ? "app" : null;
  }
  const isUsed = await store.transaction(async (tx) => {
    const used = await tx.secondFactors.useRecoveryCode(userId, hashOfCode(code));
    const self = { type: "user", id: userId } as const;
    const entry = { actor: self, address, organizationId, action: "user.recovery_code_used" as const, subject: self };
    if (used) tx.recordAudit([{ ...entry, atMs: clock.nowMs() }]);
    return used;
  });
  return isUsed ? "recovery code" : null;
}

/**
 * The error of a wrong or used code. `code` is the given code; it chooses the text. Absent: only a
 * code of the app is possible.
 */
export function wrongCode(code?: string): ApiError {
  const message =
    code === undefined || TOTP_CODE.test(code)
      ? "is wrong, or was used already: wait for the next code"
      : "is none of your recovery codes, or was used already: use another one";
  const issue = { path: ["code"], code: "custom", message };
  return new ApiError("VALIDATION_FAILED", { issues: [issue] });
}

/** Decrypts the secret of a second factor. */
export function secretOf(keys: Keyring, userId: string, sealed: Parameters<typeof openPassword>[2]): Buffer {
  return Buffer.from(openPassword(keys, userId, sealed), "base64url");
}

/** SHA-256 of a recovery code, in hex: 80 random bits need no slow hash. */
export function hashOfCode(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
