import { createKnownAccounts } from "@kapi/admission";
import { ACCOUNT_ROUTES } from "@kapi/contracts";
import { callRoute, DependencyError, type InternalClient } from "@kapi/http";

import type { AccountExistence } from "../../domain/ports.ts";
import { accountOfKey } from "../../domain/sample.ts";

/** Maximum number of cached accounts, of about 120 bytes each. */
const MAX_REMEMBERED = 500_000;

/** Asks the account service whether accounts exist; caches only existing ones. */
export function createAccountExistence(account: InternalClient): AccountExistence {
  const known = createKnownAccounts({
    maxEntries: MAX_REMEMBERED,
    load: async (accounts) => {
      const asked = { body: { accounts } };
      const { existing } = await callRoute(account, ACCOUNT_ROUTES.findExistingAccounts, asked, { repeatable: true });
      if (existing.length !== accounts.length)
        throw new DependencyError("the account service did not return one answer per account");
      return existing.map((exists) => (exists ? true : null));
    },
  });
  return {
    exist: (accounts) =>
      Promise.all(accounts.map(async (one) => (await known.find(one.serverId, one.accountNumber)) !== null)),
    forget: (key) => {
      const account = accountOfKey(key);
      if (account !== null) known.forget(account.serverId, account.accountNumber);
    },
  };
}
