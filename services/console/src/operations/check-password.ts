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
import type { AttemptPlace } from "../domain/failed-sign-ins.ts";
import { networkOf } from "../domain/network-address.ts";
import type { FailedSignInRecorder } from "./record-failed-sign-ins.ts";

/** Wait in Retry-After if too many passwords wait to be hashed. */
const BUSY_WAIT_MS = 1_000;

export interface PasswordCheckDependencies {
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

/**
 * Returns the user of a correct password. Returns null for an unknown user, a disabled user and a
 * wrong password alike, after the same work. Throws 429 with Retry-After after too many failures of
 * the e-mail address or network address, and if too many passwords wait to be hashed. Failed and
 * throttled attempts are recorded in the audit log.
 */
export async function checkPassword(
  context: PasswordCheckDependencies,
  claim: PasswordClaim,
): Promise<ActiveUser | null> {
  const { signInAttempts, users, passwords } = context;
  const subject = subjectOf(claim);
  const waitMs = await signInAttempts.begin(subject);
  const attempt = { ...placeOf(subject), address: claim.address };
  if (waitMs > 0) {
    context.failedSignIns.addThrottled(attempt, () => users.byEmail(claim.email));
    throw tooMany(waitMs);
  }
  let matches: boolean;
  let user: ActiveUser | null;
  try {
    user = await users.byEmail(claim.email);
    matches = await passwords.matches(claim.password, user?.passwordHash ?? null);
  } catch (error) {
    await signInAttempts.takeBack(subject, "undecided");
    throw error instanceof PasswordsBusy ? tooMany(BUSY_WAIT_MS) : error;
  }
  if (!matches) {
    context.failedSignIns.add(attempt, user);
    return null;
  }
  await signInAttempts.takeBack(subject, "succeeded");
  return user;
}

/**
 * Hashes a new password. Throws 429 with Retry-After if too many passwords wait to be hashed.
 */
export async function hashPassword(passwords: Pick<Passwords, "hash">, password: string): Promise<string> {
  try {
    return await passwords.hash(password);
  } catch (error) {
    throw error instanceof PasswordsBusy ? tooMany(BUSY_WAIT_MS) : error;
  }
}

function tooMany(waitMs: number): ApiError {
  return new ApiError("RATE_LIMITED", {
    text: "Too many attempts to sign in; wait a little",
    headers: { "retry-after": String(Math.ceil(waitMs / 1_000)) },
  });
}

function placeOf({ emailHash, address }: SignInSubject): AttemptPlace {
  return { emailHash, network: address };
}

function subjectOf({ email, address }: PasswordClaim): SignInSubject {
  return { emailHash: createHash("sha256").update(email).digest("hex"), address: networkOf(address) };
}
