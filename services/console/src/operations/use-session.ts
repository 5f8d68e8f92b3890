import { createHash, randomBytes } from "node:crypto";

import { type ConsolePermission, type ConsoleSession, ROLE_PERMISSIONS } from "@kapi/contracts";
import { ApiError, type Caller } from "@kapi/http";

import type { ActiveUser, ConsoleSessions, Users } from "../domain/ports.ts";

const SESSION_ID_BYTES = 32;
const CSRF_TOKEN_BYTES = 32;
/** The format of session ids of {@link openSession}. Other texts are not looked up in Redis. */
const SESSION_ID = /^[A-Za-z0-9_-]{43}$/;

/** Dependencies that find the user of a session. */
export interface SessionDependencies {
  readonly sessions: ConsoleSessions;
  readonly users: Users;
}

/** An open session and its user. */
export interface SignedIn {
  /** SHA-256 of the session's id, in hex. */
  readonly sessionHash: string;
  readonly csrfToken: string;
  readonly user: ActiveUser;
}

/** The person as the author of a change, for the service that records it. */
export function callerOf({ user }: SignedIn, address: string | null): Caller {
  return { actor: { type: "user", id: user.userId }, address };
}

/** A session that was opened just now. Its id goes into the cookie and nowhere else. */
export interface OpenedSession {
  readonly sessionId: string;
  readonly signedIn: SignedIn;
}

/** Identifies a session, to check whether it is still open. */
export interface SessionMark {
  readonly sessionHash: string;
  readonly userId: string;
  readonly sessionVersion: number;
}

/** Opens a session after a password check, and closes the former session of the browser. */
export async function openSession(
  { sessions }: Pick<SessionDependencies, "sessions">,
  user: ActiveUser,
  formerSessionId: string | null,
): Promise<OpenedSession> {
  const sessionId = randomBytes(SESSION_ID_BYTES).toString("base64url");
  const csrfToken = randomBytes(CSRF_TOKEN_BYTES).toString("base64url");
  const sessionHash = hashOf(sessionId);
  await sessions.open(sessionHash, { userId: user.userId, version: user.sessionVersion, csrfToken });
  await closeSession({ sessions }, formerSessionId);
  return { sessionId, signedIn: { sessionHash, csrfToken, user } };
}

/** Returns the user of a session. Throws 401 without a valid session. */
export async function useSession(context: SessionDependencies, sessionId: string | null): Promise<SignedIn> {
  const signedIn = sessionId !== null && SESSION_ID.test(sessionId) ? await find(context, sessionId) : null;
  if (signedIn === null) throw new ApiError("AUTHENTICATION_REQUIRED", { text: "Sign in" });
  return signedIn;
}

async function find({ sessions, users }: SessionDependencies, sessionId: string): Promise<SignedIn | null> {
  const sessionHash = hashOf(sessionId);
  const state = await sessions.use(sessionHash);
  const user = state === null ? null : await users.byId(state.userId);
  if (state === null || user === null || user.sessionVersion !== state.version) return null;
  return { sessionHash, csrfToken: state.csrfToken, user };
}

/** @throws ApiError MISSING_PERMISSION if the person's role does not allow it. */
export function requirePermission({ user }: SignedIn, permission: ConsolePermission): void {
  if (ROLE_PERMISSIONS[user.role].includes(permission)) return;
  throw new ApiError("MISSING_PERMISSION", { text: `Your role does not allow this: ${permission}` });
}

/** Closes a session. Null, malformed and closed ids are accepted. */
export async function closeSession(
  { sessions }: Pick<SessionDependencies, "sessions">,
  sessionId: string | null,
): Promise<void> {
  if (sessionId !== null && SESSION_ID.test(sessionId)) await sessions.close(hashOf(sessionId));
}

/** Whether each session is still open, in order. This does not extend their life. */
export async function areSessionsOpen(
  { sessions, users }: SessionDependencies,
  marks: readonly SessionMark[],
): Promise<boolean[]> {
  const [existing, versions] = await Promise.all([
    sessions.exist(marks.map((mark) => mark.sessionHash)),
    users.sessionVersions([...new Set(marks.map((mark) => mark.userId))]),
  ]);
  return marks.map((mark, index) => existing[index] === true && versions.get(mark.userId) === mark.sessionVersion);
}

/** The session as the page sees it; `apiUrl`: public base URL of the management API. */
export function sessionToWire({ user, csrfToken }: SignedIn, apiUrl: string): ConsoleSession {
  return {
    user: { id: user.userId, email: user.email, name: user.name, role: user.role },
    permissions: [...ROLE_PERMISSIONS[user.role]],
    organization: { id: user.organizationId, name: user.organizationName },
    csrfToken,
    apiUrl,
  };
}

function hashOf(sessionId: string): string {
  return createHash("sha256").update(sessionId).digest("hex");
}
