import { ChangePasswordBody, CONSOLE_API, SecondFactorBody, SignInBody, type SignInOptions } from "@kapi/contracts";
import { type FastifyInstance, type FastifyReply, parse } from "@kapi/http";

import { changePassword } from "../../operations/change-password.ts";
import {
  completeSignIn,
  isSignInPending,
  type PendingSignIn,
  signIn,
  type SignInDependencies,
} from "../../operations/sign-in.ts";
import { closeSession, type OpenedSession, sessionToWire } from "../../operations/use-session.ts";
import { requireOwnOrigin } from "./own-page.ts";
import { originOf, pendingIdOf, sessionIdOf, setPendingCookie, setSessionCookie } from "./session-cookie.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/**
 * Dependencies of the routes below, of the routes of a person's own second factor and sessions, and
 * of the route that accepts an invitation.
 */
export interface SessionRouteDependencies extends SignInDependencies {
  /** Whether cookies are for https only. */
  readonly secureCookies: boolean;
  /** Public base URL of the management API. */
  readonly apiUrl: string;
  /** The ways to sign in to this installation, which are the same for all browsers. */
  readonly signInOptions: Pick<SignInOptions, "passwordRecovery" | "provider">;
}

/** Sends a session that was opened just now, and its cookie. */
export function sendOpened(
  reply: FastifyReply,
  { sessionId, signedIn }: OpenedSession,
  { secureCookies, apiUrl }: Pick<SessionRouteDependencies, "secureCookies" | "apiUrl">,
): FastifyReply {
  setSessionCookie(reply, sessionId, secureCookies);
  return reply.send(sessionToWire(signedIn, apiUrl));
}

function isPending(result: OpenedSession | PendingSignIn): result is PendingSignIn {
  return "pendingId" in result;
}

/** Signing in and out, and changing one's own password. */
export function registerSessionRoutes(
  app: FastifyInstance,
  routes: SignedInRoutes,
  dependencies: SessionRouteDependencies,
): void {
  const { secureCookies, apiUrl, signInOptions } = dependencies;
  app.get(`${CONSOLE_API}/sign-in`, async (request): Promise<SignInOptions> => {
    const secondFactorPending = await isSignInPending(dependencies, pendingIdOf(request, secureCookies));
    return { ...signInOptions, secondFactorPending };
  });
  app.post(`${CONSOLE_API}/session`, async (request, reply) => {
    requireOwnOrigin(request);
    const body = parse(SignInBody, request.body);
    const result = await signIn(dependencies, body, originOf(request, secureCookies));
    if (!isPending(result)) return sendOpened(reply, result, dependencies);
    setPendingCookie(reply, result.pendingId, secureCookies);
    return reply.code(202).send({ secondFactorPending: true });
  });
  app.post(`${CONSOLE_API}/session/second-factor`, async (request, reply) => {
    requireOwnOrigin(request);
    const { code } = parse(SecondFactorBody, request.body);
    const pendingId = pendingIdOf(request, secureCookies);
    const opened = await completeSignIn(dependencies, pendingId, code, originOf(request, secureCookies));
    setPendingCookie(reply, null, secureCookies);
    return sendOpened(reply, opened, dependencies);
  });
  routes.get("/session", "self", (signedIn) => sessionToWire(signedIn, apiUrl));
  routes.delete("/session", "self", async (_signedIn, request, reply) => {
    await closeSession(dependencies, sessionIdOf(request, secureCookies));
    setSessionCookie(reply, null, secureCookies);
    return reply.code(204).send();
  });
  routes.put("/session/password", "self", async (signedIn, request, reply) => {
    const body = parse(ChangePasswordBody, request.body);
    const opened = await changePassword(dependencies, signedIn, body, originOf(request, secureCookies));
    return sendOpened(reply, opened, dependencies);
  });
}
