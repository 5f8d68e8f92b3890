import type { ConsoleSessionEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { toIso } from "@kapi/kernel";

import type { AuditCaller } from "../domain/audit.ts";
import type { ConsoleSessions } from "../domain/ports.ts";
import type { SignInDependencies } from "./sign-in.ts";
import { type OpenedSession, openSession, type SessionOrigin, type SignedIn } from "./use-session.ts";

interface OwnSessions {
  readonly sessions: ConsoleSessions;
}

/** The open sessions of a person. The most recently used session comes first. */
export async function listSessions(
  { sessions }: OwnSessions,
  { user, sessionHash: own }: SignedIn,
): Promise<ConsoleSessionEntry[]> {
  const found = await sessions.list(user.userId);
  return found
    .filter(({ version }) => version === user.sessionVersion)
    .toSorted((a, b) => b.lastUsedAtMs - a.lastUsedAtMs)
    .map(({ sessionHash, createdAtMs, lastUsedAtMs, address, userAgent }) => ({
      id: sessionHash,
      current: sessionHash === own,
      createdAt: toIso(createdAtMs),
      lastUsedAt: toIso(lastUsedAtMs),
      address,
      userAgent,
    }));
}

/** Ends one of the person's own sessions. Throws 404 for any other session. */
export async function endSession({ sessions }: OwnSessions, { user }: SignedIn, sessionHash: string): Promise<void> {
  const own = await sessions.list(user.userId);
  if (!own.some((session) => session.sessionHash === sessionHash)) throw new ApiError("NOT_FOUND");
  await sessions.close(sessionHash);
}

/** Ends all sessions of a person. A new session replaces the session of this request. */
export async function endOtherSessions(
  context: Pick<SignInDependencies, "sessions" | "store" | "clock">,
  { user, proof }: SignedIn,
  by: AuditCaller,
  origin: SessionOrigin,
): Promise<OpenedSession> {
  const { userId, organizationId } = user;
  const sessionVersion = await context.store.transaction(async (tx) => {
    const version = await tx.users.endSessions(organizationId, userId);
    if (version === null) throw new ApiError("AUTHENTICATION_REQUIRED", { text: "Sign in" });
    const subject = { type: "user", id: userId } as const;
    tx.recordAudit([{ ...by, organizationId, action: "user.sessions_ended", subject, atMs: context.clock.nowMs() }]);
    return version;
  });
  return openSession(context, { ...user, sessionVersion }, origin, proof);
}
