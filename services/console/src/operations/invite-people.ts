/** Invitations of people by an owner, and their acceptance. */
import {
  type AcceptInvitationBody,
  type ConsoleInvitation,
  INVITATION_LIFE_MS,
  type InvitationAnswer,
  type InvitedPersonAnswer,
  type InvitePersonBody,
  MAX_ACTIVE_PEOPLE,
  MAX_OPEN_INVITATIONS,
} from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { toIso, uuidV7 } from "@kapi/kernel";

import type { AuditCaller } from "../domain/audit.ts";
import type { Invitations, Mailer, NewInvitation } from "../domain/people-ports.ts";
import type { ActiveUser, Users } from "../domain/ports.ts";
import { hashPassword } from "./check-password.ts";
import { hashOfToken, createLinkToken } from "./link-token.ts";
import { requireOwner } from "./manage-people.ts";
import type { SignInDependencies } from "./sign-in.ts";
import { type OpenedSession, openSession, type SessionOrigin } from "./use-session.ts";

/** What invitations and their acceptance need. Acceptance opens a session, as a sign-in does. */
export interface InviteDependencies extends SignInDependencies {
  readonly users: Users;
  readonly invitations: Invitations;
  /** Null: no mail server; the owner passes the link on. */
  readonly mail: Mailer | null;
  /** Logs that the mail server did not accept a mail: the owner gets the link instead. */
  readonly logMailFailure: (error: unknown) => void;
}

/**
 * Invites a person. The link works once, for {@link INVITATION_LIFE_MS}, and is sent by mail. The
 * token of the link is returned only if there is no mail server, or if the mail server did not
 * accept the mail. Throws 403 if the person who invites is no longer an owner, and 400 if the
 * e-mail address has a user, or if the organization has too many people or invitations.
 */
export async function invitePerson(
  dependencies: InviteDependencies,
  owner: ActiveUser,
  wanted: InvitePersonBody,
  by: AuditCaller,
): Promise<InvitedPersonAnswer> {
  const { store, clock } = dependencies;
  const { organizationId, organizationName } = owner;
  const nowMs = clock.nowMs();
  const { token, tokenHash } = createLinkToken();
  const invitation: NewInvitation = {
    ...wanted,
    invitationId: uuidV7(nowMs),
    organizationId,
    organizationName,
    tokenHash,
    invitedBy: owner.userId,
    expiresAtMs: nowMs + INVITATION_LIFE_MS,
  };
  await store.transaction(async (tx) => {
    // Locks the organization: concurrent invitations are made one after the other, so that the
    // limits hold.
    await requireOwner(tx, owner);
    if (await tx.users.isTaken(wanted.email)) throw emailTaken();
    const people = await tx.users.countActive(organizationId);
    // The new invitation replaces an open one of the same address.
    const others = await tx.invitations.countOthers(organizationId, wanted.email, nowMs);
    if (people >= MAX_ACTIVE_PEOPLE) throw tooManyPeople();
    if (others >= MAX_OPEN_INVITATIONS) {
      throw issueOf("email", `exceeds the limit of ${MAX_OPEN_INVITATIONS} open invitations: cancel some`);
    }
    await tx.invitations.put(invitation, nowMs);
    const subject = { type: "organization", id: organizationId } as const;
    const details = { email: wanted.email, name: wanted.name, role: wanted.role };
    tx.recordAudit([{ ...by, organizationId, action: "user.invited", subject, details, atMs: nowMs }]);
  });
  const isMailed = await mailInvitation(dependencies, owner, wanted, token);
  return { invitation: shown(invitation, nowMs), token: isMailed ? null : token };
}

async function mailInvitation(
  { mail, logMailFailure }: InviteDependencies,
  owner: ActiveUser,
  { email, name }: InvitePersonBody,
  token: string,
): Promise<boolean> {
  if (mail === null) return false;
  const text = [
    `Hello ${name},`,
    `${owner.name} (${owner.email}) invites you to the kapi console of ${owner.organizationName}.`,
    `Open this link within 72 hours to choose a password. It works once:`,
    mail.linkTo("accept", token),
    "If you do not expect this mail, ignore it.",
  ].join("\n\n");
  try {
    await mail.send({ to: email, subject: `Your invitation to ${owner.organizationName}`, text });
    return true;
  } catch (error) {
    logMailFailure(error);
    return false;
  }
}

/**
 * Cancels an invitation: its link no longer works. Throws 403 if the person who cancels is no
 * longer an owner, and 404 for an unknown invitation.
 */
export async function cancelInvitation(
  { store, clock }: Pick<InviteDependencies, "store" | "clock">,
  owner: Pick<ActiveUser, "userId" | "organizationId">,
  invitationId: string,
  by: AuditCaller,
): Promise<void> {
  const { organizationId } = owner;
  await store.transaction(async (tx) => {
    await requireOwner(tx, owner);
    const cancelled = await tx.invitations.cancel(organizationId, invitationId);
    if (cancelled === null) throw new ApiError("NOT_FOUND");
    const subject = { type: "organization", id: organizationId } as const;
    const details = { email: cancelled.email, role: cancelled.role };
    const action = "user.invitation_cancelled" as const;
    tx.recordAudit([{ ...by, organizationId, action, subject, details, atMs: clock.nowMs() }]);
  });
}

/**
 * The e-mail address, name, role and organization of an invitation. Throws 404 for a link that does
 * not work.
 */
export async function openInvitation(
  { invitations, clock }: Pick<InviteDependencies, "invitations" | "clock">,
  token: string,
): Promise<InvitationAnswer> {
  const found = await invitations.byToken(hashOfToken(token), clock.nowMs());
  if (found === null) throw linkEnded();
  return { email: found.email, name: found.name, role: found.role, organization: found.organizationName };
}

/**
 * Creates the user of an invitation with the chosen name and password, and opens a session. Throws
 * 404 for an unknown, used or expired link: of two concurrent requests with one link, one gets 404.
 * Throws 400 if the e-mail address has a user by now, or if the organization has too many people.
 * Throws 429 as {@link hashPassword}. After a 400 or 429 the invitation stays open.
 */
export async function acceptInvitation(
  dependencies: InviteDependencies,
  { token, name, password }: AcceptInvitationBody,
  origin: SessionOrigin,
): Promise<OpenedSession> {
  const { store, clock, passwords, invitations, users } = dependencies;
  const tokenHash = hashOfToken(token);
  // Hashing is expensive: the link is checked first.
  const found = await invitations.byToken(tokenHash, clock.nowMs());
  if (found === null) throw linkEnded();
  const passwordHash = await hashPassword(passwords, password);
  const nowMs = clock.nowMs();
  const userId = uuidV7(nowMs);
  await store.transaction(async (tx) => {
    // Concurrent acceptances are made one after the other, so that the limit holds. The
    // organization is locked before the invitation, as in invitePerson: the other order could
    // deadlock.
    await tx.users.lockOwners(found.organizationId);
    const accepted = await tx.invitations.accept(tokenHash, nowMs);
    if (accepted === null) throw linkEnded();
    if ((await tx.users.countActive(found.organizationId)) >= MAX_ACTIVE_PEOPLE) throw tooManyPeople();
    const { organizationId, organizationName, email, role, invitedBy } = accepted;
    const user = { userId, organizationId, organizationName, email, name, role, passwordHash };
    if (!(await tx.users.insert(user, nowMs))) throw emailTaken();
    await tx.users.signedIn(userId, nowMs);
    const self = { type: "user", id: userId } as const;
    const entry = { actor: self, address: origin.address, organizationId, subject: self, atMs: nowMs };
    tx.recordAudit([
      { ...entry, action: "user.created", details: { email, name, role, invitedBy } },
      { ...entry, action: "session.opened", details: { by: "invitation" } },
    ]);
  });
  const user = await users.byId(userId);
  if (user === null) throw linkEnded();
  return openSession(dependencies, user, origin);
}

function shown(invitation: NewInvitation, nowMs: number): ConsoleInvitation {
  const { invitationId: id, email, name, role, expiresAtMs } = invitation;
  return { id, email, name, role, createdAt: toIso(nowMs), expiresAt: toIso(expiresAtMs) };
}

function linkEnded(): ApiError {
  return new ApiError("NOT_FOUND", {
    text: "This link does not work: it was used, replaced or cancelled, or it expired",
  });
}

function emailTaken(): ApiError {
  return issueOf("email", "belongs to a user already");
}

function tooManyPeople(): ApiError {
  return issueOf("email", `exceeds the limit of ${MAX_ACTIVE_PEOPLE} active people: an owner must disable some`);
}

function issueOf(field: string, message: string): ApiError {
  return new ApiError("VALIDATION_FAILED", { issues: [{ path: [field], code: "custom", message }] });
}
