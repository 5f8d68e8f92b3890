import { createHash } from "node:crypto";

import { ApiError } from "@kapi/http";

import {
  type ActiveUser,
  type Passwords,
  PasswordsBusy,
  type SignInAttempts,
  type SignInSubject,
  type Users,
} from "../domain/ports.ts";
import { networkOf } from "../domain/network-address.ts";
import type { FailedSignInRecorder } from "./record-failed-sign-ins.ts";

/** The time that Retry-After names if too many passwords wait to be hashed. */
const BUSY_WAIT_MS = 1_000;

/**
 * What checks a password, and counts and records the failures. Codes of a second factor use the
 * same counts.
 */
export interface PasswordCheckDependencies {
  /** Counts failures by e-mail address and by network address. */
  readonly signInAttempts: SignInAttempts;
  readonly users: Users;
  readonly passwords: Passwords;
  readonly failedSignIns: FailedSignInRecorder;
}

/** An e-mail address and password to be checked. */
export interface PasswordClaim {
  readonly email: string;
  readonly password: string;
  /** Network address of the caller. */
  readonly address: string;
}

/** An attempt that is counted as failed until it is taken back. */
interface Attempt {
  readonly subject: SignInSubject;
  readonly address: string;
}

/**
 * Counts an attempt as failed. Throws 429 with Retry-After after too many failures of the e-mail
 * address or network address; such an attempt is recorded in the audit log.
 */
export async function beginAttempt(
  context: Pick<PasswordCheckDependencies, "signInAttempts" | "users" | "failedSignIns">,
  email: string,
  address: string,
): Promise<Attempt> {
  const subject = subjectOf({ email, address });
  const waitMs = await context.signInAttempts.begin(subject);
  if (waitMs === 0) return { subject, address };
  context.failedSignIns.addThrottled({ ...subject, address }, () => context.users.byEmail(email));
  throw tooMany(waitMs);
}

/** Records a failed attempt in the audit log. The attempt stays counted as failed. */
export function failAttempt(
  { failedSignIns }: Pick<PasswordCheckDependencies, "failedSignIns">,
  { subject, address }: Attempt,
  user: ActiveUser | null,
): void {
  failedSignIns.add({ ...subject, address }, user);
}

/** Takes an attempt back, see {@link SignInAttempts}. */
export function takeBackAttempt(
  { signInAttempts }: Pick<PasswordCheckDependencies, "signInAttempts">,
  { subject }: Attempt,
  outcome: "succeeded" | "undecided",
): Promise<void> {
  return signInAttempts.takeBack(subject, outcome);
}

/**
 * Returns the user of a correct password. Returns null for an unknown user, a disabled user and a
 * wrong password alike, after the same work. Throws 429 as {@link beginAttempt}, and if too many
 * passwords wait to be hashed. Failed and throttled attempts are recorded in the audit log.
 */
export async function checkPassword(
  context: PasswordCheckDependencies,
  claim: PasswordClaim,
): Promise<ActiveUser | null> {
  const { users, passwords } = context;
  const attempt = await beginAttempt(context, claim.email, claim.address);
  let matches: boolean;
  let user: ActiveUser | null;
  try {
    user = await users.byEmail(claim.email);
    matches = await passwords.matches(claim.password, user?.passwordHash ?? null);
  } catch (error) {
    await takeBackAttempt(context, attempt, "undecided");
    throw error instanceof PasswordsBusy ? passwordsBusy() : error;
  }
  if (!matches || user === null) {
    failAttempt(context, attempt, user);
    return null;
  }
  // With a second factor, the password alone clears no failures: otherwise it would allow any
  // number of attempts at the code.
  await takeBackAttempt(context, attempt, user.twoFactor ? "undecided" : "succeeded");
  return user;
}

/**
 * Hashes a new password. Throws 429 with Retry-After if too many passwords wait to be hashed.
 */
export async function hashPassword(passwords: Pick<Passwords, "hash">, password: string): Promise<string> {
  try {
    return await passwords.hash(password);
  } catch (error) {
    throw error instanceof PasswordsBusy ? passwordsBusy() : error;
  }
}

function passwordsBusy(): ApiError {
  return tooMany(BUSY_WAIT_MS, "Too many passwords are being checked or set; wait a little");
}

function tooMany(waitMs: number, text = "Too many attempts to sign in; wait a little"): ApiError {
  return new ApiError("RATE_LIMITED", {
    text,
    headers: { "retry-after": String(Math.ceil(waitMs / 1_000)) },
  });
}

function subjectOf({ email, address }: Pick<PasswordClaim, "email" | "address">): SignInSubject {
  return { emailHash: createHash("sha256").update(email).digest("hex"), network: networkOf(address) };
}
