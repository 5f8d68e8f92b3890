import { createHash, timingSafeEqual } from "node:crypto";

import type { FastifyInstance } from "fastify";

import { ApiError } from "./api-error.ts";

/**
 * The header by which trading servers know kapi, and by which services of 0.1.0 know each other.
 */
export const INTERNAL_TOKEN_HEADER = "x-internal-token";
const INTERNAL_PREFIX = "/internal/";

/** The headers of every call to a trading server. */
export function tokenCredentials(token: string): Readonly<Record<string, string>> {
  return { [INTERNAL_TOKEN_HEADER]: token };
}

/**
 * Lets nobody into the routes under `prefix` (default /internal/) without the token in
 * `x-internal-token`; 401 else, before the body is read. What counts is the route that was found,
 * not the path as written, which may be encoded in many ways.
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

/** Of equal length for every text, so that the comparison tells nothing, not even a length. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
