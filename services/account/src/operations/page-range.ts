import { cursorPage, type CursorQuery, listScope, pageStart, type Pagination, type AccountRef } from "@kapi/contracts";

import type { PageRange, RecordPage } from "../domain/history-ports.ts";

/** The lists of an account's history. */
export type HistoryList = "orders" | "positions" | "deals";

/**
 * Calls `read` for the page that `query` asks for and one record more, which shows whether another
 * page follows. Null if there is no such account.
 */
export async function readPage<T>(
  list: HistoryList,
  account: AccountRef,
  query: CursorQuery,
  read: (range: PageRange) => Promise<RecordPage<T> | null>,
): Promise<{ records: readonly T[]; pagination: Pagination } | null> {
  const start = pageStart<HistoryList>(list, query);
  const { offset, limit, after } = start;
  const page = await read({ offset, limit: limit + 1, below: after?.[0] ?? null });
  if (page === null) return null;
  const scope = listScope({ ...account });
  const { rows, pagination } = cursorPage<HistoryList, RecordPage<T>["records"][number]>(
    list,
    scope,
    start,
    { rows: page.records, total: page.total },
    ({ number }) => [number],
  );
  return { records: rows.map(({ record }) => record), pagination };
}
