import type { AccountMetricsFrame, Pagination } from "@kapi/contracts";
import { batcher } from "@kapi/kernel";

import type { Account, AccountWorth, ServerConfiguration } from "../domain/account.ts";
import type { AccountFilter, AccountReader, PageQuery, Samples } from "../domain/ports.ts";
import { worthBeforeFirstSample, worthFromSample } from "../domain/worth.ts";
import { toTradingAccount } from "./render.ts";

/**
 * Chunks of lists that a process makes at once: so many at most are ahead of another request,
 * however many lists are read.
 */
const CHUNKS_AT_ONCE = 2;

/**
 * Makes a chunk when its turn comes. A list that nobody reads on makes none, and so takes no turn.
 */
const inTurn = batcher<() => Promise<string | null>, string | null>({
  load: (chunks) => Promise.all(chunks.map((chunk) => chunk())),
  maxBatchSize: 1,
  maxConcurrentBatches: CHUNKS_AT_ONCE,
});

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
  const chunks = sources.reader.all(server.serverId, filter)[Symbol.asyncIterator]();
  const nextChunk = async (): Promise<string | null> => {
    const { done, value } = await chunks.next();
    return done === true ? null : rendered(sources.samples, server, value);
  };
  for (let records = await inTurn(nextChunk); records !== null; records = await inTurn(nextChunk)) {
    yield opening + records;
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
