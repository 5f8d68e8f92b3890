import type { ListOrdersQuery, Order, Pagination, AccountRef } from "@kapi/contracts";

import type { HistoryReader } from "../domain/history-ports.ts";
import { readPage } from "./page-range.ts";

/** Body of listTradingAccountOrders, newest first; null if there is no such account. */
export async function listTradingAccountOrders(
  reader: Pick<HistoryReader, "orders">,
  account: AccountRef,
  query: ListOrdersQuery,
): Promise<{ orders: readonly Order[]; pagination: Pagination } | null> {
  const page = await readPage("orders", account, query, (range) => reader.orders(account, query, range));
  return page === null ? null : { orders: page.records, pagination: page.pagination };
}
