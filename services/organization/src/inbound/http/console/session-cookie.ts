import { SESSION_COOKIE } from "@kapi/contracts";
import type { FastifyReply, FastifyRequest } from "@kapi/http";
import { SESSION_ABSOLUTE_MS } from "@kapi/redis";

/** Only the console's own paths are told the session. */
const COOKIE_PATH = "/console";

/** The session id that the browser sent, or null. */
export function sessionIdOf(request: FastifyRequest): string | null {
  for (const part of (request.headers.cookie ?? "").split(";")) {
    const [name = "", value = ""] = part.split("=", 2);
    if (name.trim() === SESSION_COOKIE) return value.trim();
  }
  return null;
}

/** Gives the browser a session; null takes it away. `secure`: over https only. */
export function setSessionCookie(reply: FastifyReply, sessionId: string | null, secure: boolean): void {
  const parts = [
    `${SESSION_COOKIE}=${sessionId ?? ""}`,
    `Path=${COOKIE_PATH}`,
    `Max-Age=${sessionId === null ? 0 : SESSION_ABSOLUTE_MS / 1_000}`,
    "HttpOnly",
    "SameSite=Strict",
    ...(secure ? ["Secure"] : []),
  ];
  reply.header("set-cookie", parts.join("; "));
}
