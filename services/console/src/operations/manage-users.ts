import { randomBytes } from "node:crypto";

import type { ConsoleRole } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { type Clock, uuidV7 } from "@kapi/kernel";

import type { AuditCaller, AuditRecord } from "../domain/audit.ts";
import type { Directory, Passwords, PeopleStore } from "../domain/ports.ts";
import { hashPassword } from "./check-password.ts";

/** Random bytes of a generated password: 144 bits, 24 characters. */
const GENERATED_PASSWORD_BYTES = 18;

/** Dependencies of changes of users. */
export interface UserDependencies {
  readonly store: PeopleStore;
  readonly passwords: Passwords;
  readonly directory: Pick<Directory, "organizationName">;
  readonly clock: Clock;
}

/** A user to create. */
export interface CreateUser {
  readonly organizationId: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  readonly role: ConsoleRole;
  /** Absent: a password is generated. */
  readonly password?: string | undefined;
}

/**
 * The generated password, which is shown only once; absent if the caller has supplied the password.
 */
export interface GeneratedPassword {
  readonly password?: string;
}

/**
 * Creates a user. Throws 404 for an unknown organization, 400 if the e-mail address is taken, and
 * 429 if too many passwords wait to be hashed.
 */
export async function createUser(
  { store, passwords, directory, clock }: UserDependencies,
  wanted: CreateUser,
  by: AuditCaller,
): Promise<GeneratedPassword & { readonly userId: string }> {
  const { organizationId, email, name, role } = wanted;
  const organizationName = await directory.organizationName(organizationId);
  const { password, shown } = passwordOf(wanted.password);
  const user = { userId: uuidV7(clock.nowMs()), organizationId, organizationName, email, name, role };
  const passwordHash = await hashPassword(passwords, password);
  const nowMs = clock.nowMs();
  const isNew = await store.transaction(async (tx) => {
    const inserted = await tx.users.insert({ ...user, passwordHash }, nowMs);
    if (inserted) tx.recordAudit([{ ...ofUser("user.created", user, by, nowMs), details: { email, name, role } }]);
    return inserted;
  });
  if (!isNew) {
    const issue = { path: ["email"], code: "custom", message: "belongs to a user already" };
    throw new ApiError("VALIDATION_FAILED", { issues: [issue] });
  }
  return { userId: user.userId, ...shown };
}

/**
 * Sets a new password and ends the sessions of a user. Throws 404 for an unknown user, and 429 if
 * too many passwords wait to be hashed.
 */
export async function resetUserPassword(
  { store, passwords, clock }: Omit<UserDependencies, "directory">,
  userId: string,
  given: string | undefined,
  by: AuditCaller,
): Promise<GeneratedPassword> {
  const { password, shown } = passwordOf(given);
  const passwordHash = await hashPassword(passwords, password);
  await store.transaction(async (tx) => {
    const changed = await tx.users.setPassword(userId, passwordHash);
    if (changed === null) throw new ApiError("NOT_FOUND");
    tx.recordAudit([ofUser("user.password_reset", { userId, ...changed }, by, clock.nowMs())]);
  });
  return shown;
}

/** Disables a user and ends their sessions. Throws 404 for an unknown user. Safe to repeat. */
export async function disableUser(
  { store, clock }: Pick<UserDependencies, "store" | "clock">,
  userId: string,
  by: AuditCaller,
): Promise<void> {
  const nowMs = clock.nowMs();
  await store.transaction(async (tx) => {
    const disabled = await tx.users.disable(userId, nowMs);
    if (disabled === null) throw new ApiError("NOT_FOUND");
    if (disabled.isNew) tx.recordAudit([ofUser("user.disabled", { userId, ...disabled }, by, nowMs)]);
  });
}

/** The audit entry for a change of a user. */
function ofUser(
  action: AuditRecord["action"],
  { userId, organizationId }: { readonly userId: string; readonly organizationId: string },
  by: AuditCaller,
  atMs: number,
): AuditRecord {
  return { ...by, organizationId, action, subject: { type: "user", id: userId }, atMs };
}

function passwordOf(given: string | undefined): { readonly password: string; readonly shown: GeneratedPassword } {
  if (given !== undefined) return { password: given, shown: {} };
  const password = randomBytes(GENERATED_PASSWORD_BYTES).toString("base64url");
  return { password, shown: { password } };
}
