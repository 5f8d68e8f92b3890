/**
 * Authentication between services. Each caller has its own token, which begins with its name. A
 * service has only the digests of its callers' tokens, so it cannot impersonate a caller. The table
 * INTERNAL_CALLS says what each caller may call.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

import { callersOf, type InternalOwner } from "@kapi/contracts";
import type { ServiceTokenDigests } from "@kapi/runtime";
import type { FastifyInstance } from "fastify";

import { ApiError } from "./api-error.ts";
import { INTERNAL_TOKEN_HEADER, isToken } from "./internal-auth.ts";

/** The header with the token of a service, or of the operator. */
export const SERVICE_TOKEN_HEADER = "x-service-token";
const INTERNAL_PREFIX = "/internal/";

/** Secrets with which a service authenticates itself, by the names of its settings. */
export interface OwnSecrets {
  readonly SERVICE_TOKEN: string;
  /** The shared token of services of 0.1.0; only while such services run. */
  readonly INTERNAL_TOKEN?: string | undefined;
}

/** Secrets with which a service authenticates its callers, by the names of its settings. */
export interface CallerSecrets {
  readonly SERVICE_TOKEN_DIGESTS: ServiceTokenDigests;
  /**
   * The shared token of callers of 0.1.0, who may call everything except the audit log and former
   * users. Only while such callers run.
   */
  readonly INTERNAL_TOKEN?: string | undefined;
}

/** The headers of every call to another service. */
export function serviceCredentials(secrets: OwnSecrets): Readonly<Record<string, string>> {
  const { SERVICE_TOKEN: own, INTERNAL_TOKEN: shared } = secrets;
  return { [SERVICE_TOKEN_HEADER]: own, ...(shared === undefined ? {} : { [INTERNAL_TOKEN_HEADER]: shared }) };
}

/**
 * Allows each route of `app` under /internal/ only for its callers in INTERNAL_CALLS, and for
 * callers of 0.1.0 (see {@link CallerSecrets}). Other callers get 401, before the body is read. The
 * check uses the matched route, not the path of the request. Adding a route that the table does not
 * have throws an Error.
 */
export function admitCallers(app: FastifyInstance, owner: InternalOwner, secrets: CallerSecrets): void {
  app.addHook("onRoute", ({ method, url }) => {
    if (!url.startsWith(INTERNAL_PREFIX)) return;
    for (const route of [method].flat().map((one) => `${one} ${url}`)) {
      if (callersOf(owner, route) === undefined)
        throw new Error(`${route} of ${owner} is not in INTERNAL_CALLS: nobody may call it`);
    }
  });
  app.addHook("onRequest", (request, _reply, done) => {
    const { url } = request.routeOptions;
    if (url?.startsWith(INTERNAL_PREFIX) !== true) return done();
    const caller = callerOf(request.headers, secrets);
    const route = `${request.method} ${url}`;
    if (caller === null) return done(authenticationError("Internal authentication required"));
    if (caller === EVERY_SERVICE ? !isNew(url) : callersOf(owner, route)?.some((allowed) => allowed === caller))
      return done();
    done(authenticationError(`${typeof caller === "string" ? caller : caller.description} may not call ${route}`));
  });
}

/**
 * Whether the caller with these headers may call a route, such as `GET /internal/windows`. For
 * WebSocket upgrades, for which Fastify runs no hook of {@link admitCallers}. The shared token of
 * 0.1.0 is not accepted.
 */
export function mayCall(
  headers: IncomingHttpHeaders,
  owner: InternalOwner,
  route: string,
  secrets: CallerSecrets,
): boolean {
  const caller = callerOf(headers, secrets);
  return typeof caller === "string" && callersOf(owner, route)?.some((allowed) => allowed === caller) === true;
}

/**
 * Stands for a service of 0.1.0, which does not name itself. The second release after 0.1.0 no
 * longer accepts such services.
 */
const EVERY_SERVICE = Symbol("a service of 0.1.0");

/** Whether the route is one of the audit log or of former users, which 0.1.0 does not have. */
function isNew(route: string): boolean {
  return ["audit", "former-users"].some((name) => route.startsWith(`${INTERNAL_PREFIX}${name}`));
}

/**
 * The name of the caller; null if the caller is unknown. If the caller's own token is wrong, its
 * shared token is ignored.
 */
function callerOf(headers: IncomingHttpHeaders, secrets: CallerSecrets): string | typeof EVERY_SERVICE | null {
  const { [SERVICE_TOKEN_HEADER]: own, [INTERNAL_TOKEN_HEADER]: shared } = headers;
  if (own === undefined) {
    const { INTERNAL_TOKEN: expected } = secrets;
    return expected !== undefined && isToken(shared, expected) ? EVERY_SERVICE : null;
  }
  if (typeof own !== "string") return null;
  const name = own.slice(0, Math.max(0, own.indexOf(".")));
  const given = createHash("sha256").update(own).digest();
  const known = secrets.SERVICE_TOKEN_DIGESTS.get(name) ?? [];
  return known.some((digest) => timingSafeEqual(digest, given)) ? name : null;
}

function authenticationError(text: string): ApiError {
  return new ApiError("AUTHENTICATION_REQUIRED", { text });
}
