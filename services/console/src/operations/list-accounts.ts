import {
  type ConsoleAccountsAnswer,
  cursorPage,
  isNewestFirst,
  type ListConsoleAccountsQuery,
  type ListedAccount,
  listScope,
  pageStart,
  type StoredAccountValues,
  type TradingAccount,
} from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { AccountRanks, Accounts, Directory } from "../domain/ports.ts";

/**
 * `directory` checks that the organization has the server: `accounts` and `ranks` do not check it.
 * While `ranks` is unavailable, only the list that is newest first works, without stored values.
 */
export interface AccountListDependencies {
  readonly directory: Pick<Directory, "server">;
  readonly accounts: Pick<Accounts, "list" | "records">;
  readonly ranks: AccountRanks;
}

/**
 * A page of the accounts of an organization's server. The account service gives the list that is
 * newest first, which includes accounts without values. If a list is sorted or filtered by value,
 * the metrics service selects and sorts the accounts, by the values of their last stored minute
 * (decisions, 25).
 */
export async function listAccounts(
  dependencies: AccountListDependencies,
  organizationId: string,
  serverId: string,
  query: ListConsoleAccountsQuery,
): Promise<ConsoleAccountsAnswer> {
  await dependencies.directory.server(organizationId, serverId);
  return isNewestFirst(query) ? newestFirst(dependencies, serverId, query) : ranked(dependencies, serverId, query);
}

async function newestFirst(
  { accounts, ranks }: AccountListDependencies,
  serverId: string,
  { page, limit, cursor, status, search }: ListConsoleAccountsQuery,
): Promise<ConsoleAccountsAnswer> {
  const found = await accounts.list(serverId, { page, limit, cursor, status, search });
  const numbers = found.accounts.map(({ accountNumber }) => accountNumber);
  // If the stored values cannot be read, the accounts are listed without them.
  const stored = await ranks.values(serverId, numbers).catch(() => []);
  return {
    accounts: found.accounts.map((account, index) => listed(account, stored[index] ?? null)),
    pagination: found.pagination,
    orderedAt: null,
  };
}

async function ranked(
  { accounts, ranks }: AccountListDependencies,
  serverId: string,
  query: ListConsoleAccountsQuery,
): Promise<ConsoleAccountsAnswer> {
  const { sort, limit: _limit, page: _page, cursor: _cursor, ...filters } = query;
  const start = pageStart<"rankedAccounts">("rankedAccounts", query);
  if (start.offset > 0) throw pageRejected();
  const [, value, accountNumber] = start.after ?? [null, null, null];
  const after = accountNumber === null ? null : { value, accountNumber };
  const found = await ranks.rank(serverId, { sort, filters, after, limit: start.limit + 1 });
  const { rows, pagination } = cursorPage<"rankedAccounts", (typeof found.accounts)[number]>(
    "rankedAccounts",
    listScope({ serverId }),
    start,
    { rows: found.accounts, total: found.total },
    (row) => [sort, row.value, row.accountNumber],
  );
  const records = await accounts.records(
    serverId,
    rows.map((row) => row.accountNumber),
  );
  return {
    // An account that was deleted meanwhile is left out.
    accounts: records.flatMap((account, index) =>
      account === null ? [] : [listed(account, rows[index]?.stored ?? null)],
    ),
    pagination,
    orderedAt: newestMinute(rows.map((row) => row.stored)),
  };
}

function newestMinute(stored: readonly (StoredAccountValues | null)[]): string | null {
  const minutes = stored.flatMap((values) => values?.measuredAt ?? []);
  return minutes.toSorted((a, b) => a.localeCompare(b)).at(-1) ?? null;
}

function pageRejected(): ApiError {
  const message = "must be left out with a sort or filter by value: use cursor";
  return new ApiError("VALIDATION_FAILED", { issues: [{ path: ["page"], code: "custom", message }] });
}

/** An account with its newest live sample, and its stored values. */
export function listed(account: TradingAccount, stored: StoredAccountValues | null): ListedAccount {
  return { ...account, stored };
}
