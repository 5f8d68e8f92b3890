import { type ListPositionsQuery, type Pagination, paginationOf, type Position } from "@kapi/contracts";

import type { HistoryReader } from "../domain/history-ports.ts";
import type { AccountName } from "../domain/ports.ts";
import { catchUp, type CatchUpSources } from "./catch-up.ts";
import { rangeOf } from "./page-range.ts";

export interface PositionSources extends CatchUpSources {
  readonly reader: Pick<HistoryReader, "positions" | "bookedSequence">;
}

/**
 * Body of "list account positions", newest first; null where there is no such account.
 * `status=open` is booked up to the trading server's own sequence first, else DependencyError
 * (decisions, 4.11).
 */
export async function listTradingAccountPositions(
  sources: PositionSources,
  account: AccountName,
  query: ListPositionsQuery,
): Promise<{ positions: readonly Position[]; pagination: Pagination } | null> {
  if (query.status === "open" && !(await catchUp(sources, account))) return null;
  const page = await sources.reader.positions(account, query.status, rangeOf(query));
  return page === null ? null : { positions: page.records, pagination: paginationOf(query, page.total) };
}
