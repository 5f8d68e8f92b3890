import type { AccountRef } from "@kapi/contracts";
import type { AccountDescription, AccountDescriptions } from "../domain/ports.ts";

/** Maximum number of accounts of one call, which sends one request to the account service. */
export const MAX_DESCRIBED = 1_000;

/**
 * Stores the names and creation times of accounts whose creation time is not known yet.
 * @returns whether there may be more such accounts.
 */
export async function describeAccounts(
  descriptions: AccountDescriptions,
  read: (accounts: readonly AccountRef[]) => Promise<readonly AccountDescription[]>,
): Promise<boolean> {
  const accounts = await descriptions.missing(MAX_DESCRIBED);
  if (accounts.length > 0) await descriptions.store(accounts, await read(accounts));
  return accounts.length === MAX_DESCRIBED;
}
