import { CONSOLE_API, type ConsolePermission } from "@kapi/contracts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "@kapi/http";

import {
  requirePermission,
  type SessionDependencies,
  type SignedIn,
  useSession,
} from "../../operations/use-session.ts";
import { requireCsrfToken } from "./own-page.ts";
import { sessionIdOf } from "./session-cookie.ts";

/** Handles a request of a person who is signed in; returns the answer. */
export type SignedInHandler = (signedIn: SignedIn, request: FastifyRequest, reply: FastifyReply) => unknown;

/** Adds a route that requires `permission` (403). */
type AddSignedInRoute = (path: string, permission: ConsolePermission, handler: SignedInHandler) => void;

/**
 * Adds routes of the API that require a session (401) and a permission of the person's role (403).
 * Changes also require the session's CSRF token (403). All three are checked before the body.
 * Routes of people without a session are added to the application itself: sign-in, recovery,
 * acceptance of an invitation.
 */
export interface SignedInRoutes {
  readonly get: AddSignedInRoute;
  readonly post: AddSignedInRoute;
  readonly put: AddSignedInRoute;
  readonly patch: AddSignedInRoute;
  readonly delete: AddSignedInRoute;
}

/**
 * Routes on `app`, below {@link CONSOLE_API}. `secure`: whether the session is in the `__Host-`
 * cookie, which browsers send only over https.
 */
export function signedInRoutes(app: FastifyInstance, sessions: SessionDependencies, secure: boolean): SignedInRoutes {
  const reading: AddSignedInRoute = (path, permission, handler) => {
    app.get(CONSOLE_API + path, async (request, reply) => {
      const signedIn = await useSession(sessions, sessionIdOf(request, secure));
      requirePermission(signedIn, permission);
      return handler(signedIn, request, reply);
    });
  };
  const changing =
    (method: "POST" | "PUT" | "PATCH" | "DELETE"): AddSignedInRoute =>
    (path, permission, handler) => {
      app.route({
        method,
        url: CONSOLE_API + path,
        handler: async (request, reply) => {
          const signedIn = await useSession(sessions, sessionIdOf(request, secure));
          requireCsrfToken(request, signedIn.csrfToken);
          requirePermission(signedIn, permission);
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
