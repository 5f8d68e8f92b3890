import type { AccountStatus, Currency, Valuation } from "@kapi/contracts";

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
  /** The values on the trading server now; null: the account was not opened, or has none there. */
  readonly valuation: Valuation | null;
}

/**
 * Reads an account and its current values for the risk service. Null if there is no such account,
 * or its deletion has begun.
 * @throws what the trading server's client throws while the values are unavailable.
 */
export async function readAccountForRisk(
  { reader, valuations }: { readonly reader: AccountReader; readonly valuations: Valuations },
  serverId: string,
  accountNumber: string,
): Promise<AccountForRisk | null> {
  const account = await reader.account(serverId, accountNumber);
  if (account === null || account.status === "deleting" || account.status === "deleted") return null;
  const { id, organizationId, accountName, status, currency, initialBalanceMinor } = account;
  const current = account.activatedAt === null ? null : await valuations.current(serverId, accountNumber);
  return { accountId: id, organizationId, accountName, status, currency, initialBalanceMinor, valuation: current };
}
