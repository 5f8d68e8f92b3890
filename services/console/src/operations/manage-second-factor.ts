/** Setting up, replacing and removing one's own second factor. */
import { randomBytes } from "node:crypto";

import { type AuditAction, RECOVERY_CODES, type TwoFactorSecretAnswer } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { sealPassword } from "@kapi/kernel";

import type { ActiveUser } from "../domain/ports.ts";
import { acceptTotpCode, toBase32, totpUri } from "../domain/totp.ts";
import { requireFactors } from "./change-password.ts";
import { beginAttempt, failAttempt, takeBackAttempt } from "./check-password.ts";
import { hashOfCode, secretOf, type SecondFactorDependencies, wrongCode } from "./check-second-factor.ts";

/** 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20;
/** 80 bits: 16 characters of base32, in four groups. */
const RECOVERY_CODE_BYTES = 10;
const GROUP = /.{4}(?=.)/g;
/** Authenticator apps show this name, followed by the name of the organization. */
const ISSUER = "kapi";

/** The password, and the code of a second factor that exists already. */
export interface Factors {
  readonly currentPassword: string;
  readonly code?: string | undefined;
}

/**
 * Makes a new secret, which {@link confirmTwoFactor} activates. `qrOf` makes the image of a QR
 * code. Throws as {@link requireFactors}, 400 if the person has a second factor already, and 404 if
 * CONSOLE_SEALING_KEYS is not set.
 */
export async function beginTwoFactor(
  context: SecondFactorDependencies,
  user: ActiveUser,
  { currentPassword }: Factors,
  address: string,
  qrOf: (text: string) => string,
): Promise<TwoFactorSecretAnswer> {
  const { sealingKeys, secondFactors } = context;
  if (sealingKeys === null) {
    throw new ApiError("NOT_FOUND", { text: "Two-factor authentication is not set up on this installation" });
  }
  if (user.twoFactor) throw alreadyEnabled();
  await requireFactors(context, user, { currentPassword }, address);
  const bytes = randomBytes(SECRET_BYTES);
  const sealed = sealPassword(sealingKeys, user.userId, bytes.toString("base64url"));
  if (!(await secondFactors.begin(user.userId, sealed))) throw alreadyEnabled();
  const secret = toBase32(bytes);
  const uri = totpUri(secret, `${ISSUER} ${user.organizationName}`, user.email);
  return { secret, uri, qr: qrOf(uri) };
}

/**
 * Activates the secret by a first code, and returns the recovery codes. Throws 400 for a wrong
 * code, or if the person has no secret to activate, and 429 after too many failures.
 */
export async function confirmTwoFactor(
  context: SecondFactorDependencies,
  user: ActiveUser,
  code: string,
  address: string,
): Promise<readonly string[]> {
  const { sealingKeys, secondFactors, store, clock } = context;
  const stored = await secondFactors.read(user.userId);
  if (stored === null || stored.isConfirmed || sealingKeys === null) throw nothingToConfirm();
  // Decrypted before the attempt is counted: a secret that cannot be decrypted is no wrong code.
  const secret = secretOf(sealingKeys, user.userId, stored.secret);
  const attempt = await beginAttempt(context, user.email, address);
  const step = acceptTotpCode(secret, code, clock.nowMs(), stored.lastStep);
  if (step === null) {
    failAttempt(context, attempt, user);
    throw wrongCode();
  }
  await takeBackAttempt(context, attempt, "succeeded");
  const codes = createRecoveryCodes();
  await store.transaction(async (tx) => {
    const nowMs = clock.nowMs();
    if (!(await tx.secondFactors.confirm(user.userId, stored.secret, step, nowMs))) throw nothingToConfirm();
    await tx.secondFactors.replaceRecoveryCodes(user.userId, codes.map(hashOfShown));
    tx.recordAudit([recordOf("user.two_factor_enabled", user, address, nowMs)]);
  });
  return codes;
}

/**
 * Replaces all recovery codes, and returns the new ones. Throws as {@link requireFactors}, and 400
 * without a second factor.
 */
export async function replaceRecoveryCodes(
  context: SecondFactorDependencies,
  user: ActiveUser,
  factors: Factors,
  address: string,
): Promise<readonly string[]> {
  requireTwoFactor(await requireFactors(context, user, factors, address));
  const codes = createRecoveryCodes();
  await context.store.transaction(async (tx) => {
    // Between the check above and here, the second factor may have been removed.
    if (!(await tx.secondFactors.replaceRecoveryCodes(user.userId, codes.map(hashOfShown)))) throw noSecondFactor();
    tx.recordAudit([recordOf("user.recovery_codes_replaced", user, address, context.clock.nowMs())]);
  });
  return codes;
}

/**
 * Removes the second factor. Throws as {@link requireFactors}, and 400 without a second factor or
 * if the organization requires one.
 */
export async function disableTwoFactor(
  context: SecondFactorDependencies,
  user: ActiveUser,
  factors: Factors,
  address: string,
): Promise<void> {
  requireTwoFactor(await requireFactors(context, user, factors, address));
  if (user.requiresTwoFactor) throw issueOf("code", "cannot be removed: your organization requires a second factor");
  await context.store.transaction(async (tx) => {
    await tx.secondFactors.remove(user.userId);
    tx.recordAudit([recordOf("user.two_factor_disabled", user, address, context.clock.nowMs())]);
  });
}

function createRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    toBase32(randomBytes(RECOVERY_CODE_BYTES)).replaceAll(GROUP, "$&-"),
  );
}

/** The hash of a shown code without its dashes: the API also removes them from an entered code. */
function hashOfShown(code: string): string {
  return hashOfCode(code.replaceAll("-", ""));
}

function requireTwoFactor({ twoFactor }: ActiveUser): void {
  if (!twoFactor) throw noSecondFactor();
}

function noSecondFactor(): ApiError {
  return issueOf("code", "cannot be checked: you have no second factor");
}

function alreadyEnabled(): ApiError {
  const text = "You have two-factor authentication already: reload the page to change it";
  return new ApiError("VALIDATION_FAILED", { text });
}

function nothingToConfirm(): ApiError {
  return issueOf("code", "belongs to no second factor that is being set up: reload the page and begin again");
}

function issueOf(field: string, message: string): ApiError {
  return new ApiError("VALIDATION_FAILED", { issues: [{ path: [field], code: "custom", message }] });
}

function recordOf(action: AuditAction, { userId, organizationId }: ActiveUser, address: string, atMs: number) {
  const self = { type: "user", id: userId } as const;
  return { actor: self, address, organizationId, action, subject: self, atMs };
}
