/** The sign-in by OpenID Connect. It never creates people. */
import { createHash, randomBytes } from "node:crypto";

import { z } from "zod";

import type { IdentityProvider } from "../domain/people-ports.ts";
import { admitUser, beginSecondFactor, type PendingSignIn, type SignInDependencies } from "./sign-in.ts";
import type { OpenedSession, SessionOrigin } from "./use-session.ts";

/** Time in which the person must return from the provider. */
export const PROVIDER_LIFE_MS = 10 * 60_000;
const ID_BYTES = 32;

const Checks = z.object({ state: z.string(), nonce: z.string(), codeVerifier: z.string() });

/** The provider, and who asks for the second factor: the provider or the console. */
export interface ProviderSignIn {
  readonly provider: IdentityProvider;
  /** Whether the provider asks for a second factor, so that the console does not. */
  readonly hasSecondFactor: boolean;
}

/**
 * Why nobody was signed in. `expired`: the sign-in is unknown, used or expired. `unknown`: the
 * provider has not verified the e-mail address, or no active user has it.
 */
export interface ProviderProblem {
  readonly problem: "expired" | "unknown";
}

/** Begins a sign-in: the browser keeps `id` in a cookie and goes to `location`. */
export async function beginProviderSignIn(
  { pendingSignIns }: Pick<SignInDependencies, "pendingSignIns">,
  { provider }: ProviderSignIn,
): Promise<{ readonly id: string; readonly location: string }> {
  const { location, ...checks } = await provider.begin();
  const id = randomBytes(ID_BYTES).toString("base64url");
  await pendingSignIns.put(hashOf(id), checks, PROVIDER_LIFE_MS);
  return { id, location };
}

/**
 * Completes a sign-in by the answer of the provider. An active user with the verified e-mail
 * address gets a session, or a pending sign-in if the console asks for the second factor. Returns a
 * problem if nobody can be signed in. Rejects if a check of the answer fails, or if the provider
 * does not answer the console.
 */
export async function completeProviderSignIn(
  context: SignInDependencies,
  { provider, hasSecondFactor }: ProviderSignIn,
  answer: { readonly id: string | null; readonly query: string },
  origin: SessionOrigin,
): Promise<OpenedSession | PendingSignIn | ProviderProblem> {
  const { id, query } = answer;
  const checks = Checks.safeParse(id === null ? null : await context.pendingSignIns.take(hashOf(id)));
  if (!checks.success) return { problem: "expired" };
  const email = await provider.finish(query, checks.data);
  const user = email === null ? null : await context.users.byEmail(email);
  if (user === null) return { problem: "unknown" };
  if (user.twoFactor && !hasSecondFactor) return beginSecondFactor(context, user);
  return admitUser(context, user, origin, "provider", hasSecondFactor ? "provider" : "own");
}

function hashOf(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}
