import {
  type ExportConsoleAccountsQuery,
  hasValueFilters,
  type ListedAccount,
  MAX_RANKED_ACCOUNTS,
  STATUSES_WITHOUT_VALUES,
} from "@kapi/contracts";

import { type CsvCell, moneyCell, numberCell } from "../domain/csv.ts";
import { type CsvExport, type CsvPage, exportCsv } from "./csv-export.ts";
import { type AccountListDependencies, listed } from "./list-accounts.ts";

/** Accounts per page of the account service. */
const PAGE = 100;

const COLUMN_NAMES = [
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

/**
 * All accounts that match, as CSV. If `query` has ranges of values or times, the accounts are in
 * the order of account numbers, otherwise newest first. With a status of
 * {@link STATUSES_WITHOUT_VALUES}, the ranges are ignored, and the export is newest first. Neither
 * order changes during the export: no account is in it twice, and every account that matches
 * during the whole export is in it. Only one page is in memory. An export fails while the metrics
 * service is unavailable: a file without stored values would look complete.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS if the organization or the process has too many
 * exports
 */
export async function exportAccounts(
  dependencies: AccountListDependencies,
  organizationId: string,
  serverId: string,
  query: ExportConsoleAccountsQuery,
): Promise<CsvExport> {
  await dependencies.directory.server(organizationId, serverId);
  const pages = isFromMetrics(query)
    ? byNumber(dependencies, serverId, query)
    : newestFirst(dependencies, serverId, query);
  return exportCsv({ organizationId, columnNames: COLUMN_NAMES, pages });
}

function isFromMetrics(query: ExportConsoleAccountsQuery): boolean {
  return hasValueFilters(query) && !(query.status !== undefined && STATUSES_WITHOUT_VALUES.includes(query.status));
}

async function* byNumber(
  { accounts, ranks }: AccountListDependencies,
  serverId: string,
  filters: ExportConsoleAccountsQuery,
): AsyncGenerator<CsvPage> {
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
    yield { total: found.total, rows: shown.map(cellsOf) };
    const last = found.accounts.at(-1);
    if (last === undefined || found.accounts.length < MAX_RANKED_ACCOUNTS) return;
    after = { value: last.accountNumber, accountNumber: last.accountNumber };
  }
}

async function* newestFirst(
  { accounts, ranks }: AccountListDependencies,
  serverId: string,
  { status, search }: ExportConsoleAccountsQuery,
): AsyncGenerator<CsvPage> {
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
    yield { total: page.pagination.total, rows: shown.map(cellsOf) };
    cursor = page.pagination.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

function cellsOf(account: ListedAccount): CsvCell[] {
  const { stored } = account;
  return [
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
  ];
}
