import { randomBytes } from "node:crypto";

import { ApiError } from "@kapi/http";
import { uuidV7 } from "@kapi/kernel";

import type { PeopleContext } from "./console-context.ts";

/** Random bytes of a generated password: 144 bits, 24 characters. */
const GENERATED_PASSWORD_BYTES = 18;

export interface CreateUser {
  readonly organizationId: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  /** Generated where none is given. */
  readonly password?: string | undefined;
}

/** What only the answer to the call shows: a password, where it was generated. */
export interface GeneratedPassword {
  readonly password?: string;
}

/** Makes a user of an organization. Throws 404 for an unknown organization, 400 where the e-mail address is taken. */
export async function createUser(
  context: PeopleContext,
  wanted: CreateUser,
): Promise<GeneratedPassword & { readonly userId: string }> {
  const { store, users, passwords, clock } = context;
  const { organizationId, email, name } = wanted;
  if (!(await store.organizationExists(organizationId))) throw new ApiError("NOT_FOUND");
  const { password, shown } = passwordOf(wanted.password);
  const user = { userId: uuidV7(clock.nowMs()), organizationId, email, name };
  const isNew = await users.insert({ ...user, passwordHash: await passwords.hash(password) }, clock.nowMs());
  if (!isNew) {
    const issue = { path: ["email"], code: "custom", message: "belongs to a user already" };
    throw new ApiError("VALIDATION_FAILED", { issues: [issue] });
  }
  return { userId: user.userId, ...shown };
}

/** Gives a user who forgot theirs another password; their sessions end. Throws 404 for an unknown user. */
export async function resetUserPassword(
  { users, passwords }: PeopleContext,
  userId: string,
  given: string | undefined,
): Promise<GeneratedPassword> {
  const { password, shown } = passwordOf(given);
  if ((await users.setPassword(userId, await passwords.hash(password))) === null) throw new ApiError("NOT_FOUND");
  return shown;
}

/** Lets a user sign in no more, and ends their sessions. Throws 404 for an unknown user. Safe to repeat. */
export async function disableUser({ users, clock }: PeopleContext, userId: string): Promise<void> {
  if (!(await users.disable(userId, clock.nowMs()))) throw new ApiError("NOT_FOUND");
}

function passwordOf(given: string | undefined): { readonly password: string; readonly shown: GeneratedPassword } {
  if (given !== undefined) return { password: given, shown: {} };
  const password = randomBytes(GENERATED_PASSWORD_BYTES).toString("base64url");
  return { password, shown: { password } };
}
