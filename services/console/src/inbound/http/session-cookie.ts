import { SECURE_SESSION_COOKIE, SESSION_COOKIE } from "@kapi/contracts";
import { addressOf, type FastifyReply, type FastifyRequest } from "@kapi/http";

import { SESSION_ABSOLUTE_MS } from "../../domain/session-life.ts";
import type { SessionOrigin } from "../../operations/use-session.ts";

/** Path of the cookie over http: only the console's own routes receive the session. */
const COOKIE_PATH = "/console";
/** The path that browsers require for a `__Host-` cookie. */
const SECURE_COOKIE_PATH = "/";
const SECURE_PREFIX = "__Host-";
/** The cookie of a sign-in that waits for its second factor. */
const PENDING_COOKIE = "kapi_sign_in";
/** The cookie of a sign-in at the provider of OpenID Connect. */
const PROVIDER_COOKIE = "kapi_provider";
/**
 * How long the browser keeps the cookie of a sign-in that is not complete. The service keeps a
 * sign-in that waits for the second factor for 5 minutes (`SECOND_FACTOR_LIFE_MS`), and a sign-in
 * at the provider for 10 minutes (`PROVIDER_LIFE_MS`).
 */
const PENDING_LIFE_S = 600;

interface Cookie {
  /** The name over https, and over http. */
  readonly names: readonly [secure: string, plain: string];
  readonly lifeS: number;
  /** `Lax`: the browser also sends it when another site leads to the console. */
  readonly sameSite: "Strict" | "Lax";
}

const SESSION: Cookie = {
  names: [SECURE_SESSION_COOKIE, SESSION_COOKIE],
  lifeS: SESSION_ABSOLUTE_MS / 1_000,
  sameSite: "Strict",
};
const PENDING: Cookie = {
  names: [SECURE_PREFIX + PENDING_COOKIE, PENDING_COOKIE],
  lifeS: PENDING_LIFE_S,
  sameSite: "Strict",
};
const PROVIDER: Cookie = {
  names: [SECURE_PREFIX + PROVIDER_COOKIE, PROVIDER_COOKIE],
  lifeS: PENDING_LIFE_S,
  sameSite: "Lax",
};

/** The session id that the browser sent, or null. `secure`: reads the cookie for https. */
export function sessionIdOf(request: FastifyRequest, secure: boolean): string | null {
  return read(SESSION, request, secure);
}

/** Sets the session cookie of the browser; null deletes it. `secure`: for https only. */
export function setSessionCookie(reply: FastifyReply, sessionId: string | null, secure: boolean): void {
  write(SESSION, reply, sessionId, secure);
}

/** The id of a sign-in that waits for its second factor, or null. */
export function pendingIdOf(request: FastifyRequest, secure: boolean): string | null {
  return read(PENDING, request, secure);
}

/** Sets the cookie of a sign-in that waits for its second factor; null deletes it. */
export function setPendingCookie(reply: FastifyReply, pendingId: string | null, secure: boolean): void {
  write(PENDING, reply, pendingId, secure);
}

/** The id of a sign-in at the provider of OpenID Connect, or null. */
export function providerIdOf(request: FastifyRequest, secure: boolean): string | null {
  return read(PROVIDER, request, secure);
}

/** Sets the cookie of a sign-in at the provider; null deletes it. */
export function setProviderCookie(reply: FastifyReply, id: string | null, secure: boolean): void {
  write(PROVIDER, reply, id, secure);
}

/** The address, browser and present session of a request that opens a session. */
export function originOf(request: FastifyRequest, secure: boolean): SessionOrigin {
  return {
    address: addressOf(request) ?? request.ip,
    userAgent: request.headers["user-agent"] ?? null,
    previousSessionId: sessionIdOf(request, secure),
  };
}

function read(cookie: Cookie, request: FastifyRequest, secure: boolean): string | null {
  for (const part of (request.headers.cookie ?? "").split(";")) {
    const [name = "", value = ""] = part.split("=", 2);
    if (name.trim() === nameOf(cookie, secure)) return value.trim();
  }
  return null;
}

/** Adds a `Set-Cookie` header; an answer may have several. */
function write(cookie: Cookie, reply: FastifyReply, value: string | null, secure: boolean): void {
  const parts = [
    `${nameOf(cookie, secure)}=${value ?? ""}`,
    `Path=${secure ? SECURE_COOKIE_PATH : COOKIE_PATH}`,
    `Max-Age=${value === null ? 0 : cookie.lifeS}`,
    "HttpOnly",
    `SameSite=${cookie.sameSite}`,
    ...(secure ? ["Secure"] : []),
  ];
  reply.header("set-cookie", parts.join("; "));
}

function nameOf({ names: [secureName, plainName] }: Cookie, secure: boolean): string {
  return secure ? secureName : plainName;
}
