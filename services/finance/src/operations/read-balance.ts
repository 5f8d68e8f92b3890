import type { AccountRef } from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";

import type { TransactionDependencies } from "./list-trading-account-transactions.ts";

/**
 * The balance of an account at a time (ISO 8601), in units of currency, after catching up with the
 * trading server (decisions, 4.12); null if the account was deleted.
 */
export async function readBalance(
  { reader, catchUp }: TransactionDependencies,
  account: AccountRef,
  at: string,
): Promise<{ balance: number } | null> {
  await catchUp(account);
  const balanceMinor = await reader.balanceAt(account, at);
  return balanceMinor === null ? null : { balance: amountFromMinor(balanceMinor) };
}
