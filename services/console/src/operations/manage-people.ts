/** What owners do with the people of their organization. */
import {
  type ConsolePeopleAnswer,
  type ConsolePerson,
  type ConsoleRole,
  type PageQuery,
  pageNumbersOf,
} from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { Clock } from "@kapi/kernel";

import type { AuditCaller, AuditRecord } from "../domain/audit.ts";
import type { Invitations, OrganizationSettings } from "../domain/people-ports.ts";
import type { ActiveUser, PeopleStore, PeopleTransaction, User, Users } from "../domain/ports.ts";

/**
 * `store` makes each change and its entry in the audit log in one transaction; the other adapters
 * only read.
 */
export interface PeopleDependencies {
  readonly store: PeopleStore;
  readonly users: Users;
  readonly invitations: Invitations;
  readonly settings: OrganizationSettings;
  readonly clock: Clock;
}

/** A change of one person by an owner of the same organization. */
export interface PersonChange {
  readonly owner: Pick<ActiveUser, "userId" | "organizationId">;
  /** The person who is changed. */
  readonly userId: string;
  readonly by: AuditCaller;
}

/** A page of the people of an organization, and its open invitations. */
export async function listPeople(
  { users, invitations, settings, clock }: PeopleDependencies,
  organizationId: string,
  query: PageQuery,
): Promise<ConsolePeopleAnswer> {
  const { page, limit } = query;
  const [found, total, open, requireTwoFactor] = await Promise.all([
    users.page(organizationId, { limit, offset: (page - 1) * limit }),
    users.count(organizationId),
    invitations.list(organizationId, clock.nowMs()),
    settings.requiresTwoFactor(organizationId),
  ]);
  return { people: found.map(personOf), pagination: pageNumbersOf(query, total), invitations: open, requireTwoFactor };
}

/**
 * Changes the role of another person. The new role applies from that person's next request. Throws
 * 403 if `change.owner` is no longer an owner, 400 if they change their own role, and 404 for an
 * unknown or disabled person.
 */
export async function changeRole(
  { store, clock }: PeopleDependencies,
  change: PersonChange,
  role: ConsoleRole,
): Promise<void> {
  requireOther(change, "role", "is your own role: another owner must change it");
  await store.transaction(async (tx) => {
    await requireOwner(tx, change.owner);
    await setRole(tx, { ...change, organizationId: change.owner.organizationId }, role, clock.nowMs());
  });
}

/**
 * Changes a role for the operator. Throws 404 for an unknown or disabled user, and 400 if the user
 * is the only active owner and would no longer be one.
 */
export async function changeRoleForOperator(
  { store, clock }: Pick<PeopleDependencies, "store" | "clock">,
  userId: string,
  role: ConsoleRole,
  by: AuditCaller,
): Promise<void> {
  await store.transaction(async (tx) => {
    const { organizationId } = await requireUser(tx, userId);
    const owners = await tx.users.lockOwners(organizationId);
    if (role !== "owner" && owners.length === 1 && owners.includes(userId)) throw lastOwner();
    await setRole(tx, { organizationId, userId, by }, role, clock.nowMs());
  });
}

/** Disables another person and ends their sessions. Throws as {@link changeRole}. */
export async function disablePerson({ store, clock }: PeopleDependencies, change: PersonChange): Promise<void> {
  requireOther(change, "userId", "is yourself: another owner must disable you");
  const nowMs = clock.nowMs();
  await store.transaction(async (tx) => {
    await requireOwner(tx, change.owner);
    await requireColleague(tx, change);
    await tx.users.disable(change.userId, nowMs);
    tx.recordAudit([recordOf("user.disabled", change, nowMs)]);
  });
}

/**
 * Ends all sessions of a person. Throws 403 if `change.owner` is no longer an owner, and 404 for an
 * unknown or disabled person.
 */
export async function endSessionsOf({ store, clock }: PeopleDependencies, change: PersonChange): Promise<void> {
  await store.transaction(async (tx) => {
    await requireOwner(tx, change.owner);
    const version = await tx.users.endSessions(change.owner.organizationId, change.userId);
    if (version === null) throw new ApiError("NOT_FOUND");
    tx.recordAudit([recordOf("user.sessions_ended", change, clock.nowMs())]);
  });
}

/**
 * Removes the second factor of another person who lost it, and ends their sessions. Throws as
 * {@link changeRole}.
 */
export async function resetTwoFactor({ store, clock }: PeopleDependencies, change: PersonChange): Promise<void> {
  requireOther(change, "userId", "is yourself: change your second factor in your profile");
  await store.transaction(async (tx) => {
    await requireOwner(tx, change.owner);
    await requireColleague(tx, change);
    await removeFactor(tx, { ...change, organizationId: change.owner.organizationId }, clock.nowMs());
  });
}

/**
 * Removes the second factor of a user for the operator, and ends the user's sessions. Throws 404
 * for an unknown or disabled user.
 */
export async function resetTwoFactorForOperator(
  { store, clock }: Pick<PeopleDependencies, "store" | "clock">,
  userId: string,
  by: AuditCaller,
): Promise<void> {
  await store.transaction(async (tx) => {
    const { organizationId } = await requireUser(tx, userId);
    await removeFactor(tx, { organizationId, userId, by }, clock.nowMs());
  });
}

/**
 * Decides whether everybody in the organization must set up two-factor authentication. Throws 403
 * if `owner` is no longer an owner, and 400 if they require it but have not set it up themselves.
 */
export async function requireTwoFactor(
  { store, clock }: PeopleDependencies,
  owner: ActiveUser,
  required: boolean,
  by: AuditCaller,
): Promise<void> {
  if (required && !owner.twoFactor) {
    throw issueOf("required", "needs your own two-factor authentication first: set it up in your profile");
  }
  const { organizationId } = owner;
  const action = required ? "organization.two_factor_required" : "organization.two_factor_optional";
  await store.transaction(async (tx) => {
    await requireOwner(tx, owner);
    await tx.settings.requireTwoFactor(organizationId, required);
    const subject = { type: "organization", id: organizationId } as const;
    tx.recordAudit([{ ...by, organizationId, action, subject, atMs: clock.nowMs() }]);
  });
}

interface OfUser {
  readonly organizationId: string;
  readonly userId: string;
  readonly by: AuditCaller;
}

async function setRole(tx: PeopleTransaction, of: OfUser, role: ConsoleRole, nowMs: number): Promise<void> {
  const previous = await tx.users.setRole(of.organizationId, of.userId, role);
  if (previous === null) throw new ApiError("NOT_FOUND");
  if (previous === role) return;
  const { organizationId, userId, by } = of;
  const subject = { type: "user", id: userId } as const;
  const details = { from: previous, to: role };
  tx.recordAudit([{ ...by, organizationId, action: "user.role_changed", subject, details, atMs: nowMs }]);
}

async function removeFactor(tx: PeopleTransaction, of: OfUser, nowMs: number): Promise<void> {
  const { organizationId, userId, by } = of;
  const removed = await tx.secondFactors.remove(userId);
  if (!removed) return;
  await tx.users.endSessions(organizationId, userId);
  const subject = { type: "user", id: userId } as const;
  tx.recordAudit([{ ...by, organizationId, action: "user.two_factor_reset", subject, atMs: nowMs }]);
}

/**
 * Begins each transaction of an owner. Throws 403 if `owner` is no longer an owner: they can lose
 * this role after the check of their session. Locks the owners, so that of two owners who demote or
 * disable each other only one succeeds. An owner cannot demote or disable themselves, so owners
 * cannot leave their organization without an owner. Only the operator can disable the last owner.
 */
export async function requireOwner(tx: PeopleTransaction, owner: PersonChange["owner"]): Promise<void> {
  const owners = await tx.users.lockOwners(owner.organizationId);
  if (!owners.includes(owner.userId)) throw new ApiError("MISSING_PERMISSION", { text: "You are no longer an owner" });
}

async function requireColleague(tx: PeopleTransaction, { owner, userId }: PersonChange): Promise<void> {
  const { organizationId } = await requireUser(tx, userId);
  if (organizationId !== owner.organizationId) throw new ApiError("NOT_FOUND");
}

async function requireUser(tx: PeopleTransaction, userId: string): Promise<ActiveUser> {
  const user = await tx.users.byId(userId);
  if (user === null) throw new ApiError("NOT_FOUND");
  return user;
}

function requireOther({ owner, userId }: PersonChange, field: string, message: string): void {
  if (owner.userId === userId) throw issueOf(field, message);
}

function lastOwner(): ApiError {
  return issueOf("role", "must stay owner: an organization needs at least one active owner");
}

function issueOf(field: string, message: string): ApiError {
  return new ApiError("VALIDATION_FAILED", { issues: [{ path: [field], code: "custom", message }] });
}

function recordOf(action: AuditRecord["action"], { owner, userId, by }: PersonChange, atMs: number): AuditRecord {
  return { ...by, organizationId: owner.organizationId, action, subject: { type: "user", id: userId }, atMs };
}

function personOf(user: User): ConsolePerson {
  const { userId, email, name, role, twoFactor, createdAt, lastSignInAt, disabledAt } = user;
  return { id: userId, email, name, role, twoFactor, createdAt, lastSignInAt, disabledAt };
}
