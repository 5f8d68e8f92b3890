import { createHash, timingSafeEqual } from "node:crypto";

import type { FastifyInstance } from "fastify";

import { ApiError } from "./api-error.ts";

/**
 * The header with kapi's token in calls to trading servers, and with the shared token in calls from
 * and to services of release 0.1.0.
 */
export const INTERNAL_TOKEN_HEADER = "x-internal-token";
const INTERNAL_PREFIX = "/internal/";

/** The headers of every call to a trading server. */
export function tokenCredentials(token: string): Readonly<Record<string, string>> {
  return { [INTERNAL_TOKEN_HEADER]: token };
}

/**
 * Requires the token in `x-internal-token` for the routes under `prefix` (default /internal/).
 * Without it the response is 401, before the body is read. The check uses the matched route, not
 * the path of the request, which may be encoded in many ways.
 */
export function requireInternalToken(app: FastifyInstance, token: string, prefix: string = INTERNAL_PREFIX): void {
  app.addHook("onRequest", (request, _reply, done) => {
    if (request.routeOptions.url?.startsWith(prefix) !== true) return done();
    if (isToken(request.headers[INTERNAL_TOKEN_HEADER], token)) return done();
    done(new ApiError("AUTHENTICATION_REQUIRED", { text: "Internal authentication required" }));
  });
}

/** Whether the value of a header is `token`, compared in constant time. */
export function isToken(given: string | string[] | undefined, token: string): boolean {
  return typeof given === "string" && timingSafeEqual(digest(given), digest(token));
}

/** Digests have equal length, so the comparison does not reveal the length of the token. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
