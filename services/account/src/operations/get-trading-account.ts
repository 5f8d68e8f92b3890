import type { AccountCredentials, TradingAccount } from "@kapi/contracts";

import type { Account, AccountWorth } from "../domain/account.ts";
import type { AccountReader, Samples, Valuations } from "../domain/ports.ts";
import { worthBeforeFirstSample, worthFromSample, worthFromValuation } from "../domain/worth.ts";
import { toCredentials, toTradingAccount } from "./render.ts";

/** What the details of an account are read from. */
export interface AccountDetailsSources {
  readonly reader: AccountReader;
  readonly samples: Samples;
  readonly valuations: Valuations;
  /** Told when live values could not be had and older ones are shown. */
  readonly onStale: (error: unknown) => void;
}

/** Body of getTradingAccount. */
export interface AccountDetails {
  readonly account: TradingAccount;
  readonly credentials: AccountCredentials;
}

/**
 * Details of an account with the values of this moment from the trading server, or those of the
 * last stored sample where it is unreachable (decisions, 4.1). Null where there is no such account.
 */
export async function getTradingAccount(
  sources: AccountDetailsSources,
  serverId: string,
  accountNumber: string,
): Promise<AccountDetails | null> {
  const [server, account] = await Promise.all([
    sources.reader.server(serverId),
    sources.reader.account(serverId, accountNumber),
  ]);
  if (server === null || account === null) return null;
  const worth = await worthOf(sources, account);
  return { account: toTradingAccount(account, server, worth), credentials: toCredentials(account, server) };
}

async function worthOf(sources: AccountDetailsSources, account: Account): Promise<AccountWorth> {
  const { serverId, accountNumber } = account;
  // An account that was never opened is unknown to the trading server, and nothing is worth asking
  // about.
  if (account.activatedAt === null) return worthBeforeFirstSample(account);
  const [valuation, sample] = await Promise.allSettled([
    sources.valuations.current(serverId, accountNumber),
    sources.samples.latest(serverId, [accountNumber]).then(([latest]) => latest ?? null),
  ]);
  const lastSample = sample.status === "fulfilled" ? sample.value : null;
  if (valuation.status === "fulfilled" && valuation.value !== null) {
    return worthFromValuation(valuation.value, lastSample?.sequence ?? 0);
  }
  if (valuation.status === "rejected") sources.onStale(valuation.reason);
  if (sample.status === "rejected") throw sample.reason;
  return lastSample === null ? worthBeforeFirstSample(account) : worthFromSample(lastSample);
}
