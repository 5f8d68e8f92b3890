import { type ListPositionsQuery, type Pagination, paginationOf, type Position } from "@kapi/contracts";

import type { HistoryReader } from "../domain/history-ports.ts";
import type { AccountName } from "../domain/ports.ts";
import { catchUp, type CatchUpDependencies } from "./catch-up.ts";
import { rangeOf } from "./page-range.ts";

export interface PositionDependencies extends CatchUpDependencies {
  readonly reader: Pick<HistoryReader, "positions" | "bookedSequence">;
}

/**
 * Body of "list account positions", newest first; null if there is no such account. `status=open`
 * first books up to the trading server's sequence, or rejects with DependencyError (decisions,
 * 4.11).
 */
export async function listTradingAccountPositions(
  dependencies: PositionDependencies,
  account: AccountName,
  query: ListPositionsQuery,
): Promise<{ positions: readonly Position[]; pagination: Pagination } | null> {
  if (query.status === "open" && !(await catchUp(dependencies, account))) return null;
  const page = await dependencies.reader.positions(account, query, rangeOf("positions", query));
  if (page === null) return null;
  const { records, total, last } = page;
  return { positions: records, pagination: paginationOf("positions", query, total, last === null ? null : [last]) };
}
