import { type Deal, type ListDealsQuery, type Pagination, paginationOf } from "@kapi/contracts";

import type { HistoryReader } from "../domain/history-ports.ts";
import type { AccountName } from "../domain/ports.ts";
import { rangeOf } from "./page-range.ts";

/** Body of "list account deals", newest first; null if there is no such account. */
export async function listTradingAccountDeals(
  reader: Pick<HistoryReader, "deals">,
  account: AccountName,
  query: ListDealsQuery,
): Promise<{ deals: readonly Deal[]; pagination: Pagination } | null> {
  const page = await reader.deals(account, query, rangeOf("deals", query));
  if (page === null) return null;
  const { records, total, last } = page;
  return { deals: records, pagination: paginationOf("deals", query, total, last === null ? null : [last]) };
}
