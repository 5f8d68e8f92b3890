import { type Deal, type PageQuery, type Pagination, paginationOf } from "@kapi/contracts";

import type { HistoryReader } from "../domain/history-ports.ts";
import type { AccountName } from "../domain/ports.ts";
import { rangeOf } from "./page-range.ts";

/** Body of "list account deals", newest first; null if there is no such account. */
export async function listTradingAccountDeals(
  reader: Pick<HistoryReader, "deals">,
  account: AccountName,
  query: PageQuery,
): Promise<{ deals: readonly Deal[]; pagination: Pagination } | null> {
  const page = await reader.deals(account, rangeOf(query));
  return page === null ? null : { deals: page.records, pagination: paginationOf(query, page.total) };
}
