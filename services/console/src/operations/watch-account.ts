import type { AccountRef } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { ServerDependencies } from "./list-servers.ts";
import type { SignedIn, SessionMark } from "./use-session.ts";

/**
 * Checks that a person may watch an account; returns the session for `LiveAccounts.watch`. Throws
 * 404 if the organization does not have the server or the account.
 */
export async function watchAccount(
  { directory, accounts }: ServerDependencies,
  { sessionHash, user }: SignedIn,
  account: AccountRef,
): Promise<SessionMark> {
  await directory.server(user.organizationId, account.serverId);
  const [exists] = await accounts.existing([account]);
  if (exists !== true) throw new ApiError("ACCOUNT_NOT_FOUND");
  return { sessionHash, userId: user.userId, sessionVersion: user.sessionVersion };
}
