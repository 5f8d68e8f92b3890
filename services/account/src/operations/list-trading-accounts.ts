import type { AccountMetricsFrame, Pagination } from "@kapi/contracts";

import type { Account, AccountWorth, ServerConfiguration } from "../domain/account.ts";
import type { AccountFilter, AccountReader, PageQuery, Samples } from "../domain/ports.ts";
import { worthBeforeFirstSample, worthFromSample } from "../domain/worth.ts";
import { toTradingAccount } from "./render.ts";

/** What the list is read from. */
export interface AccountListSources {
  readonly reader: AccountReader;
  readonly samples: Samples;
}

/**
 * The JSON text of every account of a server that matches, newest first, in chunks: `{"accounts":[…]}`. Only one chunk
 * of accounts is in memory at a time (decisions, 4.5). Live values are those of the last sample.
 */
export async function* streamTradingAccounts(
  sources: AccountListSources,
  server: ServerConfiguration,
  filter: AccountFilter,
): AsyncGenerator<string> {
  let opening = '{"accounts":[';
  for await (const accounts of sources.reader.all(server.serverId, filter)) {
    if (accounts.length === 0) continue;
    yield opening + (await rendered(sources.samples, server, accounts));
    opening = ",";
  }
  yield opening === "," ? "]}" : `${opening}]}`;
}

/** The JSON text of one page: `{"accounts":[…],"pagination":{…}}`. */
export async function pageOfTradingAccounts(
  sources: AccountListSources,
  server: ServerConfiguration,
  query: PageQuery,
): Promise<string> {
  const { accounts, total } = await sources.reader.page(server.serverId, query);
  const pagination: Pagination = {
    page: query.page,
    limit: query.limit,
    total,
    totalPages: Math.ceil(total / query.limit),
  };
  const records = accounts.length === 0 ? "" : await rendered(sources.samples, server, accounts);
  return `{"accounts":[${records}],"pagination":${JSON.stringify(pagination)}}`;
}

/** The accounts as JSON, joined by commas. */
async function rendered(samples: Samples, server: ServerConfiguration, accounts: Account[]): Promise<string> {
  const numbers = accounts.map((account) => account.accountNumber);
  const latest = await samples.latest(server.serverId, numbers);
  return accounts
    .map((account, index) => JSON.stringify(toTradingAccount(account, server, worthOf(account, latest[index] ?? null))))
    .join(",");
}

function worthOf(account: Account, sample: AccountMetricsFrame | null): AccountWorth {
  return sample === null ? worthBeforeFirstSample(account) : worthFromSample(sample);
}
