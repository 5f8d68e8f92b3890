import {
  type ExportConsoleAccountsQuery,
  hasValueFilters,
  type ListedAccount,
  MAX_RANKED_ACCOUNTS,
  STATUSES_WITHOUT_VALUES,
} from "@kapi/contracts";
import { tooManyConcurrentRequests } from "@kapi/http";
import { OrganizationSlots } from "@kapi/kernel";

import { csvLine, moneyCell, numberCell } from "../domain/csv.ts";
import { type AccountListDependencies, listed } from "./list-accounts.ts";

/** Maximum number of exports that a process sends concurrently, and of one organization. */
const MAX_EXPORTS = 8;
const MAX_EXPORTS_PER_ORGANIZATION = 2;
/** Accounts per page of the account service. */
const PAGE = 100;

const slots = new OrganizationSlots({ perOrganization: MAX_EXPORTS_PER_ORGANIZATION, total: MAX_EXPORTS });

const HEADS = [
  "account number",
  "name",
  "state",
  "currency",
  "balance",
  "equity",
  "unrealized profit",
  "used margin",
  "free margin",
  "margin level %",
  "open positions",
  "equity at day start",
  "change today",
  "daily drawdown %",
  "total drawdown %",
  "leverage",
  "initial balance",
  "created",
  "measured",
];

/** The accounts of a list as CSV, in chunks of some lines. */
export interface AccountExport {
  /** Number of accounts when the export began. */
  readonly total: number;
  readonly chunks: AsyncIterable<string>;
}

/**
 * All accounts that match, as CSV. With filters by value in the order of numbers, otherwise newest
 * first: neither order changes, so no account comes twice, and none that matches throughout is
 * missing. Only one chunk is in memory.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS if the organization has too many exports
 */
export async function exportAccounts(
  dependencies: AccountListDependencies,
  organizationId: string,
  serverId: string,
  query: ExportConsoleAccountsQuery,
): Promise<AccountExport> {
  await dependencies.directory.server(organizationId, serverId);
  const release = slots.take(organizationId);
  if (release === null) throw tooManyConcurrentRequests();
  try {
    const pages = isFromMetrics(query)
      ? byNumber(dependencies, serverId, query)
      : newestFirst(dependencies, serverId, query);
    const first = await pages.next();
    const total = first.done === true ? 0 : first.value.total;
    return { total, chunks: lines(first, pages, release) };
  } catch (error) {
    release();
    throw error;
  }
}

function isFromMetrics(query: ExportConsoleAccountsQuery): boolean {
  return hasValueFilters(query) && !(query.status !== undefined && STATUSES_WITHOUT_VALUES.includes(query.status));
}

interface Chunk {
  readonly total: number;
  readonly accounts: readonly ListedAccount[];
}

async function* lines(
  first: IteratorResult<Chunk>,
  pages: AsyncGenerator<Chunk>,
  release: () => void,
): AsyncGenerator<string> {
  try {
    yield csvLine(HEADS);
    for (let page = first; page.done !== true; page = await pages.next()) {
      const text = page.value.accounts.map(lineOf).join("");
      if (text !== "") yield text;
    }
  } finally {
    release();
  }
}

async function* byNumber(
  { accounts, ranks }: AccountListDependencies,
  serverId: string,
  filters: ExportConsoleAccountsQuery,
): AsyncGenerator<Chunk> {
  let after: { value: string | null; accountNumber: string } | null = null;
  for (;;) {
    const asked = { sort: "number", filters, after, limit: MAX_RANKED_ACCOUNTS } as const;
    const found: Awaited<ReturnType<typeof ranks.rank>> = await ranks.rank(serverId, asked);
    const records = await accounts.records(
      serverId,
      found.accounts.map(({ accountNumber }) => accountNumber),
    );
    const shown = records.flatMap((account, index) =>
      account === null ? [] : [listed(account, found.accounts[index]?.stored ?? null)],
    );
    yield { total: found.total, accounts: shown };
    const last = found.accounts.at(-1);
    if (last === undefined || found.accounts.length < MAX_RANKED_ACCOUNTS) return;
    after = { value: last.accountNumber, accountNumber: last.accountNumber };
  }
}

async function* newestFirst(
  { accounts, ranks }: AccountListDependencies,
  serverId: string,
  { status, search }: ExportConsoleAccountsQuery,
): AsyncGenerator<Chunk> {
  let cursor: string | undefined;
  do {
    const page: Awaited<ReturnType<typeof accounts.list>> = await accounts.list(serverId, {
      status,
      search,
      limit: PAGE,
      cursor,
    });
    const stored = await ranks.values(
      serverId,
      page.accounts.map(({ accountNumber }) => accountNumber),
    );
    const shown = page.accounts.map((account, index) => listed(account, stored[index] ?? null));
    yield { total: page.pagination.total, accounts: shown };
    cursor = page.pagination.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

function lineOf(account: ListedAccount): string {
  const { stored } = account;
  return csvLine([
    account.accountNumber,
    account.accountName,
    account.status,
    account.currency,
    moneyCell(account.balance),
    moneyCell(account.equity),
    moneyCell(account.unrealizedProfit),
    moneyCell(account.usedMargin),
    moneyCell(account.freeMargin),
    numberCell(account.marginLevel),
    numberCell(account.openPositionCount),
    moneyCell(stored?.dayStartEquity ?? null),
    moneyCell(stored?.dayChange ?? null),
    numberCell(stored?.dailyDrawdown ?? null),
    numberCell(stored?.totalDrawdown ?? null),
    numberCell(account.leverage),
    moneyCell(account.initialBalance),
    account.createdAt,
    account.metricsMeasuredAt,
  ]);
}
