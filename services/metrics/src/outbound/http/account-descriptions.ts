import { ACCOUNT_ROUTES, type AccountRef } from "@kapi/contracts";
import { callRoute, DependencyError, type InternalClient } from "@kapi/http";

import type { AccountDescription } from "../../domain/ports.ts";

/** Reads names and creation times from the account service, in the order of the accounts. */
export async function readDescriptions(
  account: InternalClient,
  accounts: readonly AccountRef[],
): Promise<readonly AccountDescription[]> {
  const asked = { body: { accounts: accounts.map(({ serverId, accountNumber }) => ({ serverId, accountNumber })) } };
  const described = await callRoute(account, ACCOUNT_ROUTES.describeAccounts, asked, { repeatable: true });
  if (described.accounts.length !== accounts.length)
    throw new DependencyError("the account service did not return one description per account");
  return described.accounts;
}
