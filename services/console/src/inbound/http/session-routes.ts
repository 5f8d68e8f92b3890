import { ChangePasswordBody, CONSOLE_API, SignInBody } from "@kapi/contracts";
import { addressOf, type FastifyInstance, type FastifyReply, parse } from "@kapi/http";

import { changePassword } from "../../operations/change-password.ts";
import { signIn, type SignInDependencies } from "../../operations/sign-in.ts";
import { closeSession, type OpenedSession, sessionToWire } from "../../operations/use-session.ts";
import { requireOwnOrigin } from "./own-page.ts";
import { sessionIdOf, setSessionCookie } from "./session-cookie.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

export interface SessionRouteDependencies extends SignInDependencies {
  /** Whether cookies are for https only. */
  readonly secureCookies: boolean;
  /** Public base URL of the management API. */
  readonly apiUrl: string;
}

/** Signing in and out, and changing one's own password. */
export function registerSessionRoutes(
  app: FastifyInstance,
  routes: SignedInRoutes,
  dependencies: SessionRouteDependencies,
): void {
  const { secureCookies, apiUrl } = dependencies;
  const sendOpened = (reply: FastifyReply, { sessionId, signedIn }: OpenedSession): FastifyReply => {
    setSessionCookie(reply, sessionId, secureCookies);
    return reply.send(sessionToWire(signedIn, apiUrl));
  };
  app.post(`${CONSOLE_API}/session`, async (request, reply) => {
    requireOwnOrigin(request);
    const body = parse(SignInBody, request.body);
    const opened = await signIn(dependencies, {
      ...body,
      address: addressOf(request) ?? request.ip,
      formerSessionId: sessionIdOf(request, secureCookies),
    });
    return sendOpened(reply, opened);
  });
  routes.get("/session", "self", (signedIn) => sessionToWire(signedIn, apiUrl));
  routes.delete("/session", "self", async (_signedIn, request, reply) => {
    await closeSession(dependencies, sessionIdOf(request, secureCookies));
    setSessionCookie(reply, null, secureCookies);
    return reply.code(204).send();
  });
  routes.put("/session/password", "self", async (signedIn, request, reply) => {
    const body = parse(ChangePasswordBody, request.body);
    const opened = await changePassword(dependencies, signedIn, {
      ...body,
      address: addressOf(request) ?? request.ip,
      sessionId: sessionIdOf(request, secureCookies),
    });
    return sendOpened(reply, opened);
  });
}
