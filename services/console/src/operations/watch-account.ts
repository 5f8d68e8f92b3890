import { ApiError } from "@kapi/http";

import type { AccountName } from "../domain/ports.ts";
import type { ServerDependencies } from "./list-servers.ts";
import type { SignedIn, SessionMark } from "./use-session.ts";

/** Opens a stream of samples. Throws 404 for an account outside the organization. */
export async function watchAccount(
  { directory, accounts }: ServerDependencies,
  { sessionHash, user }: SignedIn,
  account: AccountName,
): Promise<SessionMark> {
  await directory.server(user.organizationId, account.serverId);
  const [exists] = await accounts.existing([account]);
  if (exists !== true) throw new ApiError("ACCOUNT_NOT_FOUND");
  return { sessionHash, userId: user.userId, sessionVersion: user.sessionVersion };
}
