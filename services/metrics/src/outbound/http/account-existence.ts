import { createKnownAccounts } from "@kapi/admission";
import { DependencyError, type InternalClient } from "@kapi/http";
import { z } from "zod";

import type { AccountExistence } from "../../domain/ports.ts";
import { accountOfKey } from "../../domain/sample.ts";

const Existing = z.object({ existing: z.array(z.boolean()) });
/** About 60 bytes each. */
const MAX_REMEMBERED = 500_000;

/** Whether accounts exist, as the account service says; remembered once it said yes. */
export function createAccountExistence(account: InternalClient): AccountExistence {
  const known = createKnownAccounts({
    maxEntries: MAX_REMEMBERED,
    load: async (accounts) => {
      const path = "/internal/accounts/existing";
      const { existing } = await account.json("POST", path, { accounts }, Existing, { repeatable: true });
      if (existing.length !== accounts.length) throw new DependencyError("not one answer per account");
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
