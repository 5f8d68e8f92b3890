/**
 * How services know each other. A caller has a token of its own, which begins with its name; a
 * service knows the digests of its callers' tokens, and so cannot call another service in their
 * name. What each caller may call is one table, INTERNAL_CALLS.
 */
import { createHash, timingSafeEqual } from "node:crypto";

import { callersOf, type InternalOwner } from "@kapi/contracts";
import type { ServiceTokenDigests } from "@kapi/runtime";
import type { FastifyInstance, FastifyRequest } from "fastify";

import { ApiError } from "./api-error.ts";
import { INTERNAL_TOKEN_HEADER, isToken } from "./internal-auth.ts";

/** The header by which services, and the operator, say and prove who they are. */
export const SERVICE_TOKEN_HEADER = "x-service-token";
const INTERNAL_PREFIX = "/internal/";

/** What a service proves itself with, by the names of its settings. */
export interface OwnSecrets {
  readonly SERVICE_TOKEN: string;
  /** What services of 0.1.0 know each other by; only while such services run. */
  readonly INTERNAL_TOKEN?: string | undefined;
}

/** What a service knows its callers by, by the names of its settings. */
export interface CallerSecrets {
  readonly SERVICE_TOKEN_DIGESTS: ServiceTokenDigests;
  /** What callers of 0.1.0 show; they may call everything. Only while such callers run. */
  readonly INTERNAL_TOKEN?: string | undefined;
}

/** The headers of every call to another service. */
export function serviceCredentials(secrets: OwnSecrets): Readonly<Record<string, string>> {
  const { SERVICE_TOKEN: own, INTERNAL_TOKEN: shared } = secrets;
  return { [SERVICE_TOKEN_HEADER]: own, ...(shared === undefined ? {} : { [INTERNAL_TOKEN_HEADER]: shared }) };
}

/**
 * Lets into each route of `app` under /internal/ the callers that INTERNAL_CALLS names for it; 401
 * else, before the body is read. What counts is the route that was found, not the path as written.
 * A route that the table does not have throws when it is added.
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
    const caller = callerOf(request, secrets);
    const route = `${request.method} ${url}`;
    if (caller === null) return done(authenticationError("Internal authentication required"));
    if (caller === EVERY_SERVICE ? !isNew(url) : callersOf(owner, route)?.some((allowed) => allowed === caller))
      return done();
    done(authenticationError(`${String(caller)} may not call ${route}`));
  });
}

/** A service of 0.1.0, which does not say which one it is. Goes in the release after the next. */
const EVERY_SERVICE = Symbol("a service of 0.1.0");

/** Whether 0.1.0 does not know the route: what concerns the audit log, and the move of people. */
function isNew(route: string): boolean {
  return ["audit", "former-users"].some((name) => route.startsWith(`${INTERNAL_PREFIX}${name}`));
}

/**
 * The name of the caller; null for nobody that is known. A token that is shown must be right,
 * whatever else is shown.
 */
function callerOf(request: FastifyRequest, secrets: CallerSecrets): string | typeof EVERY_SERVICE | null {
  const { [SERVICE_TOKEN_HEADER]: own, [INTERNAL_TOKEN_HEADER]: shared } = request.headers;
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
