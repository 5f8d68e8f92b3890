import { type Order, type PageQuery, type Pagination, paginationOf } from "@kapi/contracts";

import type { HistoryReader } from "../domain/history-ports.ts";
import type { AccountName } from "../domain/ports.ts";
import { rangeOf } from "./page-range.ts";

/** Body of listTradingAccountOrders, newest first; null if there is no such account. */
export async function listTradingAccountOrders(
  reader: Pick<HistoryReader, "orders">,
  account: AccountName,
  query: PageQuery,
): Promise<{ orders: readonly Order[]; pagination: Pagination } | null> {
  const page = await reader.orders(account, rangeOf(query));
  return page === null ? null : { orders: page.records, pagination: paginationOf(query, page.total) };
}
