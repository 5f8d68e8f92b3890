import { createHash, randomBytes } from "node:crypto";

import { ApiError } from "@kapi/http";
import { z } from "zod";

import type { ActiveUser, ConsoleSessions, PendingSignIns, SessionProof } from "../domain/ports.ts";
import { checkPassword, type PasswordClaim } from "./check-password.ts";
import { checkSecondFactor, type SecondFactorDependencies, wrongCode } from "./check-second-factor.ts";
import { type OpenedSession, openSession, type SessionOrigin } from "./use-session.ts";

/** Time in which a sign-in must be completed by the second factor. */
const SECOND_FACTOR_LIFE_MS = 5 * 60_000;
const PENDING_ID_BYTES = 32;
/** The format of ids of pending sign-ins. */
const PENDING_ID = /^[A-Za-z0-9_-]{43}$/;

/** Dependencies of a sign-in and a change of the password. */
export interface SignInDependencies extends SecondFactorDependencies {
  readonly sessions: ConsoleSessions;
  readonly pendingSignIns: PendingSignIns;
}

/** How a person signed in, for the audit log. */
export type SignInMethod = "password" | "app" | "recovery code" | "provider";

/** A sign-in that waits for the second factor. Its id goes into a cookie of its own. */
export interface PendingSignIn {
  readonly pendingId: string;
}

const PendingUser = z.object({ userId: z.string(), version: z.number() });

/**
 * Opens a session for a correct password, under a new id, and closes the previous session of the
 * browser. A person with a second factor gets a pending sign-in instead, which can do nothing but
 * {@link completeSignIn}. Throws 401 with the same text for an unknown user and a wrong password,
 * and 429 as {@link checkPassword}.
 */
export async function signIn(
  context: SignInDependencies,
  claim: Omit<PasswordClaim, "address">,
  origin: SessionOrigin,
): Promise<OpenedSession | PendingSignIn> {
  const user = await checkPassword(context, { ...claim, address: origin.address });
  if (user === null) throw new ApiError("AUTHENTICATION_REQUIRED", { text: "E-mail or password is wrong" });
  return user.twoFactor ? beginSecondFactor(context, user) : admitUser(context, user, origin, "password");
}

/** Stores a sign-in that waits for its second factor, for {@link SECOND_FACTOR_LIFE_MS}. */
export async function beginSecondFactor(
  { pendingSignIns }: Pick<SignInDependencies, "pendingSignIns">,
  { userId, sessionVersion: version }: ActiveUser,
): Promise<PendingSignIn> {
  const pendingId = randomBytes(PENDING_ID_BYTES).toString("base64url");
  const value: z.infer<typeof PendingUser> = { userId, version };
  await pendingSignIns.put(hashOf(pendingId), value, SECOND_FACTOR_LIFE_MS);
  return { pendingId };
}

/** Whether the id names a sign-in that waits for its second factor. */
export async function isSignInPending(
  context: Pick<SignInDependencies, "pendingSignIns" | "users">,
  pendingId: string | null,
): Promise<boolean> {
  return (await pendingUser(context, pendingId)) !== null;
}

/**
 * Opens the session of a pending sign-in. Throws 401 if the sign-in is over, 400 for a wrong or
 * used code, and 429 after too many failures. The sign-in stays pending after a wrong code.
 */
export async function completeSignIn(
  context: SignInDependencies,
  pendingId: string | null,
  code: string,
  origin: SessionOrigin,
): Promise<OpenedSession> {
  const user = await pendingUser(context, pendingId);
  if (user === null || pendingId === null) throw signInOver();
  const accepted = await checkSecondFactor(context, user, code, origin.address);
  if (accepted === null) throw wrongCode(code);
  if ((await context.pendingSignIns.take(hashOf(pendingId))) === null) throw signInOver();
  // The user was read before the recovery code was used up.
  const recoveryCodesLeft = user.recoveryCodesLeft - (accepted === "recovery code" ? 1 : 0);
  return admitUser(context, { ...user, recoveryCodesLeft }, origin, accepted);
}

/**
 * Opens the session of a user who has proved who they are. The audit entry is written first:
 * without it there is no session.
 */
export async function admitUser(
  context: Pick<SignInDependencies, "store" | "clock" | "sessions">,
  user: ActiveUser,
  origin: SessionOrigin,
  method: SignInMethod,
  proof: SessionProof = "own",
): Promise<OpenedSession> {
  const { userId, organizationId } = user;
  const { address } = origin;
  const atMs = context.clock.nowMs();
  const actor = { type: "user", id: userId } as const;
  const record = { actor, address, organizationId, action: "session.opened" as const, subject: actor };
  await context.store.transaction(async (tx) => {
    await tx.users.signedIn(userId, atMs);
    tx.recordAudit([{ ...record, details: { by: method }, atMs }]);
  });
  return openSession(context, user, origin, proof);
}

async function pendingUser(
  { pendingSignIns, users }: Pick<SignInDependencies, "pendingSignIns" | "users">,
  pendingId: string | null,
): Promise<ActiveUser | null> {
  if (pendingId === null || !PENDING_ID.test(pendingId)) return null;
  const value = PendingUser.safeParse(await pendingSignIns.read(hashOf(pendingId)));
  if (!value.success) return null;
  const user = await users.byId(value.data.userId);
  return user?.sessionVersion === value.data.version ? user : null;
}

function signInOver(): ApiError {
  return new ApiError("AUTHENTICATION_REQUIRED", { text: "Your sign-in has expired: sign in again" });
}

function hashOf(pendingId: string): string {
  return createHash("sha256").update(pendingId).digest("hex");
}
