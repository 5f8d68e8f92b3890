import { CONSOLE_API } from "@kapi/contracts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "@kapi/http";

import { type SessionDependencies, type SignedIn, useSession } from "../../operations/use-session.ts";
import { requireCsrfToken } from "./own-page.ts";
import { sessionIdOf } from "./session-cookie.ts";

/** Handles a request of a person who is signed in; returns the answer. */
export type SignedInHandler = (signedIn: SignedIn, request: FastifyRequest, reply: FastifyReply) => unknown;

/**
 * The only way to add routes of the API other than the sign-in. They require a session (401), and
 * for changes its CSRF token (403); both are checked before the body.
 */
export interface SignedInRoutes {
  get(path: string, handler: SignedInHandler): void;
  post(path: string, handler: SignedInHandler): void;
  put(path: string, handler: SignedInHandler): void;
  patch(path: string, handler: SignedInHandler): void;
  delete(path: string, handler: SignedInHandler): void;
}

/**
 * Routes on `app`, below {@link CONSOLE_API}. `secure`: reads the session from the cookie for
 * https.
 */
export function signedInRoutes(app: FastifyInstance, sessions: SessionDependencies, secure: boolean): SignedInRoutes {
  const reading = (path: string, handler: SignedInHandler): void => {
    app.get(CONSOLE_API + path, async (request, reply) =>
      handler(await useSession(sessions, sessionIdOf(request, secure)), request, reply),
    );
  };
  const changing =
    (method: "POST" | "PUT" | "PATCH" | "DELETE") =>
    (path: string, handler: SignedInHandler): void => {
      app.route({
        method,
        url: CONSOLE_API + path,
        handler: async (request, reply) => {
          const signedIn = await useSession(sessions, sessionIdOf(request, secure));
          requireCsrfToken(request, signedIn.csrfToken);
          return handler(signedIn, request, reply);
        },
      });
    };
  return {
    get: reading,
    post: changing("POST"),
    put: changing("PUT"),
    patch: changing("PATCH"),
    delete: changing("DELETE"),
  };
}
