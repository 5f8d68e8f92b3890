import type { AccountCredentials, TradingAccount } from "@kapi/contracts";

import type { Account, AccountValues } from "../domain/account.ts";
import type { AccountReader, Samples, Valuations } from "../domain/ports.ts";
import { initialValues, valuesFromSample, valuesFromValuation } from "../domain/account-values.ts";
import { toCredentials, toTradingAccount } from "./render.ts";

/**
 * The sources of an account and its values. `valuations` asks the trading server now. If the
 * trading server gives no values, the last live sample of `samples` is used.
 */
export interface AccountDetailsDependencies {
  readonly reader: AccountReader;
  readonly samples: Samples;
  readonly valuations: Valuations;
  /** Called with the error if the current values cannot be read from the trading server. */
  readonly onStale: (error: unknown) => void;
}

/** Body of getTradingAccount. */
export interface AccountDetails {
  readonly account: TradingAccount;
  readonly credentials: AccountCredentials;
}

/**
 * Account details with the current values on the trading server, or with the last live sample if
 * the trading server gives none (decisions, 4.1). An account without a sample then shows its
 * initial balance. An account that was never opened shows zero. Null if there is no such account.
 * Rejects if the trading server gives no values and the last sample cannot be read either.
 */
export async function getTradingAccount(
  dependencies: AccountDetailsDependencies,
  serverId: string,
  accountNumber: string,
): Promise<AccountDetails | null> {
  const [server, account] = await Promise.all([
    dependencies.reader.server(serverId),
    dependencies.reader.account(serverId, accountNumber),
  ]);
  if (server === null || account === null) return null;
  const values = await valuesOf(dependencies, account);
  return { account: toTradingAccount(account, server, values), credentials: toCredentials(account, server) };
}

async function valuesOf(dependencies: AccountDetailsDependencies, account: Account): Promise<AccountValues> {
  const { serverId, accountNumber } = account;
  // The trading server does not know an account that was never opened.
  if (account.activatedAt === null) return initialValues(account);
  const [valuation, sample] = await Promise.allSettled([
    dependencies.valuations.current(serverId, accountNumber),
    dependencies.samples.latest(serverId, [accountNumber]).then(([latest]) => latest ?? null),
  ]);
  const lastSample = sample.status === "fulfilled" ? sample.value : null;
  if (valuation.status === "fulfilled" && valuation.value !== null) {
    return valuesFromValuation(valuation.value, lastSample?.sequence ?? 0);
  }
  if (valuation.status === "rejected") dependencies.onStale(valuation.reason);
  if (sample.status === "rejected") throw sample.reason;
  return lastSample === null ? initialValues(account) : valuesFromSample(lastSample);
}
