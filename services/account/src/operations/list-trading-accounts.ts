import type { AccountMetricsFrame, Pagination } from "@kapi/contracts";
import { tooManyConcurrentRequests } from "@kapi/http";
import { OrganizationQueue, QueueTimeout } from "@kapi/kernel";

import type { Account, AccountWorth, ServerConfiguration } from "../domain/account.ts";
import type { AccountFilter, AccountReader, PageQuery, Samples } from "../domain/ports.ts";
import { worthBeforeFirstSample, worthFromSample } from "../domain/worth.ts";
import { toTradingAccount } from "./render.ts";

/**
 * Chunks of lists that a process makes at once: so many at most are ahead of another request,
 * however many lists are read.
 */
const MAX_CHUNKS = 2;
/** One organization's share of them, so that a chunk of another one waits for no second chunk. */
const MAX_CHUNKS_PER_ORGANIZATION = 1;
/** Longest wait for a chunk's turn, in milliseconds; the gateway waits 3.5 s for a chunk. */
const MAX_CHUNK_WAIT_MS = 3_000;
/** Searches of a process at once. Each holds a connection to the database, for 2 s at most. */
const MAX_SEARCHES = 8;
/** One organization's share of them, whatever all gateways and consoles let through. */
const MAX_SEARCHES_PER_ORGANIZATION = 2;
/** Longest wait for a search's turn, in milliseconds: with its 2 s, what the gateway waits for. */
const MAX_SEARCH_WAIT_MS = 1_000;

const listQueue = new OrganizationQueue({ perOrganization: MAX_CHUNKS_PER_ORGANIZATION, total: MAX_CHUNKS });
const searchQueue = new OrganizationQueue({ perOrganization: MAX_SEARCHES_PER_ORGANIZATION, total: MAX_SEARCHES });

/** What the list is read from. */
export interface AccountListSources {
  readonly reader: AccountReader;
  readonly samples: Samples;
}

/**
 * The JSON text of every account of a server that matches, newest first, in chunks:
 * `{"accounts":[…]}`. Only one chunk of accounts is in memory at a time (decisions, 4.5), and a
 * list that nobody reads on makes none. Live values are those of the last sample.
 */
export async function* streamTradingAccounts(
  sources: AccountListSources,
  server: ServerConfiguration,
  filter: AccountFilter,
): AsyncGenerator<string> {
  const chunks = sources.reader.all(server.serverId, filter)[Symbol.asyncIterator]();
  const nextChunk = (): Promise<string | null> =>
    inTurn(server, filter, async () => {
      const { done, value } = await chunks.next();
      return done === true ? null : rendered(sources.samples, server, value);
    });
  let opening = '{"accounts":[';
  for (let records = await nextChunk(); records !== null; records = await nextChunk()) {
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
  const page = (): ReturnType<AccountReader["page"]> => sources.reader.page(server.serverId, query);
  // A page without a search is a short read like others.
  const { accounts, total } = await (query.search === undefined ? page() : inTurn(server, query, page));
  const pagination: Pagination = {
    page: query.page,
    limit: query.limit,
    total,
    totalPages: Math.ceil(total / query.limit),
  };
  const records = accounts.length === 0 ? "" : await rendered(sources.samples, server, accounts);
  return `{"accounts":[${records}],"pagination":${JSON.stringify(pagination)}}`;
}

/**
 * Reads once it is the organization's turn: searches wait for searches alone.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS where that takes too long
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
