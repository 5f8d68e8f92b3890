import { SECURE_SESSION_COOKIE, SESSION_COOKIE } from "@kapi/contracts";
import type { FastifyReply, FastifyRequest } from "@kapi/http";

import { SESSION_ABSOLUTE_MS } from "../../domain/session-life.ts";

/** Path of the cookie over http: only the console's own routes receive the session. */
const COOKIE_PATH = "/console";
/** The path that browsers require for a `__Host-` cookie. */
const SECURE_COOKIE_PATH = "/";

/** The session id that the browser sent, or null. `secure`: reads the cookie for https. */
export function sessionIdOf(request: FastifyRequest, secure: boolean): string | null {
  for (const part of (request.headers.cookie ?? "").split(";")) {
    const [name = "", value = ""] = part.split("=", 2);
    if (name.trim() === nameOf(secure)) return value.trim();
  }
  return null;
}

/** Sets the session cookie of the browser; null deletes it. `secure`: for https only. */
export function setSessionCookie(reply: FastifyReply, sessionId: string | null, secure: boolean): void {
  const parts = [
    `${nameOf(secure)}=${sessionId ?? ""}`,
    `Path=${secure ? SECURE_COOKIE_PATH : COOKIE_PATH}`,
    `Max-Age=${sessionId === null ? 0 : SESSION_ABSOLUTE_MS / 1_000}`,
    "HttpOnly",
    "SameSite=Strict",
    ...(secure ? ["Secure"] : []),
  ];
  reply.header("set-cookie", parts.join("; "));
}

function nameOf(secure: boolean): string {
  return secure ? SECURE_SESSION_COOKIE : SESSION_COOKIE;
}
