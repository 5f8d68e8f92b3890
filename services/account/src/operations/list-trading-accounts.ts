import type { AccountMetricsFrame, TradingAccount } from "@kapi/contracts";
import { tooManyConcurrentRequests } from "@kapi/http";
import { OrganizationQueue, QueueTimeout } from "@kapi/kernel";

import type { Account, AccountValues, ServerConfiguration } from "../domain/account.ts";
import type { AccountFilter, AccountReader, PageQuery, Samples } from "../domain/ports.ts";
import { initialValues, valuesFromSample } from "../domain/account-values.ts";
import { toTradingAccount } from "./render.ts";

/**
 * Maximum number of list chunks that a process builds concurrently, so that lists barely delay
 * other requests.
 */
const MAX_CHUNKS = 2;
/**
 * Maximum number of chunks that a process builds concurrently for one organization, so that the
 * lists of one organization never use all of {@link MAX_CHUNKS}.
 */
const MAX_CHUNKS_PER_ORGANIZATION = 1;
/** Maximum wait until a chunk may be read; the gateway waits 3.5 s in all for a chunk. */
const MAX_CHUNK_WAIT_MS = 3_000;
/**
 * Maximum number of concurrent searches in a process. A search uses a database connection for at
 * most 2 s.
 */
const MAX_SEARCHES = 8;
/** Maximum number of concurrent searches of one organization in a process, from any caller. */
const MAX_SEARCHES_PER_ORGANIZATION = 2;
/**
 * Maximum wait until a search may start. This wait and the 2 s of the search are less than the
 * 3.5 s that the gateway waits.
 */
const MAX_SEARCH_WAIT_MS = 1_000;

/** Maximum number of accounts that are read without waiting for a turn: one page. */
const MAX_UNQUEUED_RECORDS = 100;

const listQueue = new OrganizationQueue({ perOrganization: MAX_CHUNKS_PER_ORGANIZATION, total: MAX_CHUNKS });
const searchQueue = new OrganizationQueue({ perOrganization: MAX_SEARCHES_PER_ORGANIZATION, total: MAX_SEARCHES });

/**
 * Lists show the values of the last live sample, and never ask the trading server. An account
 * without a sample shows its initial balance, or zero before it is opened.
 */
export interface AccountListDependencies {
  readonly reader: AccountReader;
  readonly samples: Samples;
}

/**
 * The JSON text of all matching accounts of a server, newest first, in chunks: `{"accounts":[…]}`.
 * Only one chunk is in memory at a time (decisions, 4.5). A chunk is built only when the caller
 * asks for it. Live values come from the last sample.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS if a chunk waits too long for its turn
 */
export async function* streamTradingAccounts(
  dependencies: AccountListDependencies,
  server: ServerConfiguration,
  filter: AccountFilter,
): AsyncGenerator<string> {
  const chunks = dependencies.reader.all(server.serverId, filter)[Symbol.asyncIterator]();
  const nextChunk = (): Promise<string | null> =>
    inTurn(server, filter, async () => {
      const { done, value } = await chunks.next();
      return done === true ? null : rendered(dependencies.samples, server, value);
    });
  let opening = '{"accounts":[';
  for (let records = await nextChunk(); records !== null; records = await nextChunk()) {
    yield opening + records;
    opening = ",";
  }
  yield opening === "," ? "]}" : `${opening}]}`;
}

/**
 * The JSON text of one page: `{"accounts":[…],"pagination":{…}}`.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS if a search waits too long for its turn
 */
export async function pageOfTradingAccounts(
  dependencies: AccountListDependencies,
  server: ServerConfiguration,
  query: PageQuery,
): Promise<string> {
  const page = (): ReturnType<AccountReader["page"]> => dependencies.reader.page(server.serverId, query);
  // A page without a search is a short read and needs no queue.
  const { accounts, pagination } = await (query.search === undefined ? page() : inTurn(server, query, page));
  const records = accounts.length === 0 ? "" : await rendered(dependencies.samples, server, accounts);
  return `{"accounts":[${records}],"pagination":${JSON.stringify(pagination)}}`;
}

/**
 * Reads when it is the organization's turn. Searches have their own queue.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS if the turn does not come in time
 */
async function inTurn<T>(
  { organizationId }: ServerConfiguration,
  { search }: AccountFilter,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await (search === undefined
      ? listQueue.run(organizationId, MAX_CHUNK_WAIT_MS, read)
      : searchQueue.run(organizationId, MAX_SEARCH_WAIT_MS, read));
  } catch (error) {
    if (!(error instanceof QueueTimeout)) throw error;
    throw tooManyConcurrentRequests(error);
  }
}

/**
 * The given accounts of a server, in order; null for one that does not exist or is deleted. A call
 * with more than {@link MAX_UNQUEUED_RECORDS} accounts waits for the organization's turn.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS if the turn does not come in time
 */
export async function readAccountRecords(
  { reader, samples }: AccountListDependencies,
  server: ServerConfiguration,
  accountNumbers: readonly string[],
): Promise<(TradingAccount | null)[]> {
  if (accountNumbers.length === 0) return [];
  const read = async (): Promise<(TradingAccount | null)[]> => {
    const accounts = await reader.records(server.serverId, accountNumbers);
    const shown = await withValues(
      samples,
      server,
      accounts.filter((account) => account !== null),
    );
    const byNumber = new Map(shown.map((account) => [account.accountNumber, account]));
    return accountNumbers.map((accountNumber) => byNumber.get(accountNumber) ?? null);
  };
  return accountNumbers.length <= MAX_UNQUEUED_RECORDS ? read() : inTurn(server, {}, read);
}

/** The accounts as JSON, joined by commas. */
async function rendered(samples: Samples, server: ServerConfiguration, accounts: Account[]): Promise<string> {
  return (await withValues(samples, server, accounts)).map((account) => JSON.stringify(account)).join(",");
}

async function withValues(
  samples: Samples,
  server: ServerConfiguration,
  accounts: readonly Account[],
): Promise<TradingAccount[]> {
  const numbers = accounts.map((account) => account.accountNumber);
  const latest = await samples.latest(server.serverId, numbers);
  return accounts.map((account, index) => toTradingAccount(account, server, valuesOf(account, latest[index] ?? null)));
}

function valuesOf(account: Account, sample: AccountMetricsFrame | null): AccountValues {
  return sample === null ? initialValues(account) : valuesFromSample(sample);
}
