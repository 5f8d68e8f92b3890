import type { Deal, ListDealsQuery, Pagination, AccountRef } from "@kapi/contracts";

import type { HistoryReader } from "../domain/history-ports.ts";
import { readPage } from "./page-range.ts";

/** Body of listTradingAccountDeals, newest first; null if there is no such account. */
export async function listTradingAccountDeals(
  reader: Pick<HistoryReader, "deals">,
  account: AccountRef,
  query: ListDealsQuery,
): Promise<{ deals: readonly Deal[]; pagination: Pagination } | null> {
  const page = await readPage("deals", account, query, (range) => reader.deals(account, query, range));
  return page === null ? null : { deals: page.records, pagination: page.pagination };
}
