import type { AccountRef, AccountStatus, Currency, Valuation } from "@kapi/contracts";

import type { AccountReader, Valuations } from "../domain/ports.ts";

/**
 * What the risk service needs to know of an account: to set rules, to compare the account with
 * templates, and for evidence.
 */
interface AccountForRisk {
  readonly accountId: string;
  readonly organizationId: string;
  readonly currency: Currency;
  readonly accountName: string;
  readonly status: AccountStatus;
  readonly initialBalanceMinor: number;
  /**
   * The values on the trading server now; null: the account was not opened, it has no values there,
   * or the values were not asked for.
   */
  readonly valuation: Valuation | null;
}

/**
 * Reads an account for the risk service, with its current values unless `valuation` is `none`. Null
 * if there is no such account, or its deletion has begun.
 * @throws what the trading server's client throws while wanted values are unavailable.
 */
export async function readAccountForRisk(
  { reader, valuations }: { readonly reader: Pick<AccountReader, "account">; readonly valuations: Valuations },
  { serverId, accountNumber }: AccountRef,
  { valuation }: { readonly valuation: "current" | "none" },
): Promise<AccountForRisk | null> {
  const account = await reader.account(serverId, accountNumber);
  if (account === null || account.status === "deleting" || account.status === "deleted") return null;
  const { id, organizationId, accountName, status, currency, initialBalanceMinor } = account;
  const isWanted = valuation === "current" && account.activatedAt !== null;
  const current = isWanted ? await valuations.current(serverId, accountNumber) : null;
  return { accountId: id, organizationId, accountName, status, currency, initialBalanceMinor, valuation: current };
}
