import { type Order, type ListOrdersQuery, type Pagination, paginationOf } from "@kapi/contracts";

import type { HistoryReader } from "../domain/history-ports.ts";
import type { AccountName } from "../domain/ports.ts";
import { rangeOf } from "./page-range.ts";

/** Body of listTradingAccountOrders, newest first; null if there is no such account. */
export async function listTradingAccountOrders(
  reader: Pick<HistoryReader, "orders">,
  account: AccountName,
  query: ListOrdersQuery,
): Promise<{ orders: readonly Order[]; pagination: Pagination } | null> {
  const page = await reader.orders(account, query, rangeOf("orders", query));
  if (page === null) return null;
  const { records, total, last } = page;
  return { orders: records, pagination: paginationOf("orders", query, total, last === null ? null : [last]) };
}
