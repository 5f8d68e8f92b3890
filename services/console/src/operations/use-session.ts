import { createHash, randomBytes } from "node:crypto";

import { type ConsolePermission, type ConsoleSession, ROLE_PERMISSIONS } from "@kapi/contracts";
import { ApiError, type Caller } from "@kapi/http";

import type { ActiveUser, ConsoleSessions, SessionProof, Users } from "../domain/ports.ts";

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
  /** How the person proved who they are. */
  readonly proof: SessionProof;
}

/** The caller that opens a session, and the session that the new one replaces. */
export interface SessionOrigin {
  /** Network address of the caller. */
  readonly address: string;
  /** `User-Agent` of the browser; null: none. */
  readonly userAgent: string | null;
  /** Id of the browser's present session, which is closed; null: none. */
  readonly previousSessionId: string | null;
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

/**
 * Opens a session after the checks of a sign-in, and closes the previous session of the browser.
 */
export async function openSession(
  { sessions }: Pick<SessionDependencies, "sessions">,
  user: ActiveUser,
  { address, userAgent, previousSessionId }: SessionOrigin,
  proof: SessionProof = "own",
): Promise<OpenedSession> {
  const sessionId = randomBytes(SESSION_ID_BYTES).toString("base64url");
  const csrfToken = randomBytes(CSRF_TOKEN_BYTES).toString("base64url");
  const sessionHash = hashOf(sessionId);
  const { userId, sessionVersion: version } = user;
  await sessions.open(sessionHash, { userId, version, csrfToken, proof, address, userAgent });
  await closeSession({ sessions }, previousSessionId);
  return { sessionId, signedIn: { sessionHash, csrfToken, user, proof } };
}

/** Returns a session and its user, and restarts its idle time. Throws 401 if it is not valid. */
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
  return { sessionHash, csrfToken: state.csrfToken, user, proof: state.proof };
}

/**
 * The permissions that a person has now: those of their role, or only `self` as long as they must
 * set up two-factor authentication first.
 */
export function permissionsOf(signedIn: SignedIn): readonly ConsolePermission[] {
  return mustEnrol(signedIn) ? ["self"] : ROLE_PERMISSIONS[signedIn.user.role];
}

/**
 * Whether the organization requires a second factor that the person does not have. A sign-in at a
 * provider that asked for a second factor is enough.
 */
function mustEnrol({ user, proof }: SignedIn): boolean {
  return user.requiresTwoFactor && !user.twoFactor && proof !== "provider";
}

/** @throws ApiError MISSING_PERMISSION if the person does not have the permission now. */
export function requirePermission(signedIn: SignedIn, permission: ConsolePermission): void {
  if (permissionsOf(signedIn).includes(permission)) return;
  const text = mustEnrol(signedIn)
    ? "Set up two-factor authentication first: your organization requires it"
    : `Your role does not allow this: ${permission}`;
  throw new ApiError("MISSING_PERMISSION", { text });
}

/** Closes a session. Null, malformed and closed ids are accepted. */
export async function closeSession(
  { sessions }: Pick<SessionDependencies, "sessions">,
  sessionId: string | null,
): Promise<void> {
  if (sessionId !== null && SESSION_ID.test(sessionId)) await sessions.close(hashOf(sessionId));
}

/**
 * Whether each session is still open, in order. The check does not restart the idle time of a
 * session. While the Redis node of a session does not answer, only the session version of the user
 * decides.
 */
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
export function sessionToWire(signedIn: SignedIn, apiUrl: string): ConsoleSession {
  const { user, csrfToken } = signedIn;
  return {
    user: { id: user.userId, email: user.email, name: user.name, role: user.role },
    permissions: [...permissionsOf(signedIn)],
    organization: { id: user.organizationId, name: user.organizationName },
    twoFactor: {
      enabled: user.twoFactor,
      mustEnrol: mustEnrol(signedIn),
      recoveryCodesLeft: user.recoveryCodesLeft,
    },
    csrfToken,
    apiUrl,
  };
}

function hashOf(sessionId: string): string {
  return createHash("sha256").update(sessionId).digest("hex");
}
