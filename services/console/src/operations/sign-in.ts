import { ApiError } from "@kapi/http";
import type { Clock } from "@kapi/kernel";

import type { ConsoleSessions, PeopleStore } from "../domain/ports.ts";
import { checkPassword, type PasswordCheckDependencies, type PasswordClaim } from "./check-password.ts";
import { type OpenedSession, openSession } from "./use-session.ts";

/** Dependencies of a sign-in and a change of the password. */
export interface SignInDependencies extends PasswordCheckDependencies {
  readonly store: PeopleStore;
  readonly sessions: ConsoleSessions;
  readonly clock: Clock;
}

/**
 * Opens a session for a correct password, under a new id, and closes the former session of the
 * browser. Throws 401 with the same text for an unknown user and a wrong password, and 429 after
 * too many failures. The audit entry is written first: without it there is no session.
 */
export async function signIn(
  context: SignInDependencies,
  claim: PasswordClaim & { readonly formerSessionId: string | null },
): Promise<OpenedSession> {
  const user = await checkPassword(context, claim);
  if (user === null) throw new ApiError("AUTHENTICATION_REQUIRED", { text: "E-mail or password is wrong" });
  const { userId, organizationId } = user;
  const actor = { type: "user", id: userId } as const;
  const record = { actor, address: claim.address, organizationId, action: "session.opened" as const, subject: actor };
  await context.store.transaction(async (tx) => tx.recordAudit([{ ...record, atMs: context.clock.nowMs() }]));
  return openSession(context, user, claim.formerSessionId);
}
