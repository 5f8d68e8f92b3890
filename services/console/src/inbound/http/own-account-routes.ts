import { CurrentFactorsBody, CurrentPasswordBody, SecondFactorBody } from "@kapi/contracts";
import { addressOf, type FastifyRequest, parse } from "@kapi/http";
import { z } from "zod";

import { endOtherSessions, endSession, listSessions } from "../../operations/list-sessions.ts";
import {
  beginTwoFactor,
  confirmTwoFactor,
  disableTwoFactor,
  replaceRecoveryCodes,
} from "../../operations/manage-second-factor.ts";
import { callerOf } from "../../operations/use-session.ts";
import { qrCodeAddress } from "./qr-code.ts";
import { originOf } from "./session-cookie.ts";
import { sendOpened, type SessionRouteDependencies } from "./session-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/**
 * `sessionId` in a path is not the id in the cookie, but its SHA-256 in hex: the `sessionHash`.
 */
const SessionPath = z.object({ sessionId: z.string().regex(/^[0-9a-f]{64}$/, "must be the id of a session") });

/** The second factor and the sessions of the person who is signed in. */
export function registerOwnAccountRoutes(routes: SignedInRoutes, dependencies: SessionRouteDependencies): void {
  routes.post("/two-factor", "self", ({ user }, request) => {
    const body = parse(CurrentPasswordBody, request.body);
    return beginTwoFactor(dependencies, user, body, addressIn(request), qrCodeAddress);
  });
  routes.post("/two-factor/confirm", "self", async ({ user }, request) => {
    const { code } = parse(SecondFactorBody, request.body);
    return { recoveryCodes: await confirmTwoFactor(dependencies, user, code, addressIn(request)) };
  });
  routes.post("/two-factor/recovery-codes", "self", async ({ user }, request) => {
    const body = parse(CurrentFactorsBody, request.body);
    return { recoveryCodes: await replaceRecoveryCodes(dependencies, user, body, addressIn(request)) };
  });
  routes.post("/two-factor/disable", "self", async ({ user }, request, reply) => {
    const body = parse(CurrentFactorsBody, request.body);
    await disableTwoFactor(dependencies, user, body, addressIn(request));
    return reply.code(204).send();
  });
  routes.get("/sessions", "self", async (signedIn) => ({ sessions: await listSessions(dependencies, signedIn) }));
  routes.post("/sessions/end-others", "self", async (signedIn, request, reply) => {
    const by = callerOf(signedIn, addressOf(request));
    const origin = originOf(request, dependencies.secureCookies);
    return sendOpened(reply, await endOtherSessions(dependencies, signedIn, by, origin), dependencies);
  });
  routes.delete("/sessions/:sessionId", "self", async (signedIn, request, reply) => {
    await endSession(dependencies, signedIn, parse(SessionPath, request.params).sessionId);
    return reply.code(204).send();
  });
}

function addressIn(request: FastifyRequest): string {
  return addressOf(request) ?? request.ip;
}
