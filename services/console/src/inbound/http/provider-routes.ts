import { CONSOLE_API } from "@kapi/contracts";
import { type FastifyInstance, type FastifyReply } from "@kapi/http";

import type { SignInDependencies } from "../../operations/sign-in.ts";
import {
  beginProviderSignIn,
  completeProviderSignIn,
  type ProviderSignIn,
} from "../../operations/sign-in-with-provider.ts";
import { originOf, providerIdOf, setPendingCookie, setProviderCookie, setSessionCookie } from "./session-cookie.ts";

/** The path of the console to which the provider sends the browser back. */
export const PROVIDER_CALLBACK = `${CONSOLE_API}/sign-in/provider/callback`;
const PAGE = "/console/";
const FOUND = 302;

/** What the sign-in by a provider needs in addition to {@link SignInDependencies}. */
export interface ProviderRouteDependencies extends SignInDependencies {
  /** Null: no provider is configured, and the routes do not exist. */
  readonly providerSignIn: ProviderSignIn | null;
  /** Whether cookies are for https only. */
  readonly secureCookies: boolean;
  /** Logs why a sign-in failed: the browser only learns that it failed. */
  readonly logProviderFailure: (error: unknown) => void;
}

/** The sign-in by OpenID Connect. A problem leads back to the page, which shows it. */
export function registerProviderRoutes(app: FastifyInstance, dependencies: ProviderRouteDependencies): void {
  const { providerSignIn, secureCookies, logProviderFailure } = dependencies;
  if (providerSignIn === null) return;
  const back = (reply: FastifyReply, problem?: string): FastifyReply =>
    reply.redirect(problem === undefined ? PAGE : `${PAGE}?sign-in=${problem}`, FOUND);
  app.get(`${CONSOLE_API}/sign-in/provider`, async (_request, reply) => {
    try {
      const { id, location } = await beginProviderSignIn(dependencies, providerSignIn);
      setProviderCookie(reply, id, secureCookies);
      return await reply.redirect(location, FOUND);
    } catch (error) {
      logProviderFailure(error);
      return back(reply, "failed");
    }
  });
  app.get(PROVIDER_CALLBACK, async (request, reply) => {
    const answer = { id: providerIdOf(request, secureCookies), query: request.url.split("?", 2)[1] ?? "" };
    setProviderCookie(reply, null, secureCookies);
    try {
      const origin = originOf(request, secureCookies);
      const result = await completeProviderSignIn(dependencies, providerSignIn, answer, origin);
      if ("problem" in result) return back(reply, result.problem);
      if ("pendingId" in result) setPendingCookie(reply, result.pendingId, secureCookies);
      else setSessionCookie(reply, result.sessionId, secureCookies);
      return back(reply);
    } catch (error) {
      logProviderFailure(error);
      return back(reply, "failed");
    }
  });
}
