import type { ListPositionsQuery, Pagination, Position, AccountRef } from "@kapi/contracts";

import type { HistoryReader } from "../domain/history-ports.ts";
import { catchUp, type CatchUpDependencies } from "./catch-up.ts";
import { readPage } from "./page-range.ts";

interface PositionDependencies extends CatchUpDependencies {
  readonly reader: Pick<HistoryReader, "positions" | "bookedSequence">;
}

/**
 * Body of `listTradingAccountPositions`, newest first; null if there is no such account.
 * `status=open` first books up to the trading server's sequence, or rejects as {@link catchUp} does
 * (decisions, 4.11).
 */
export async function listTradingAccountPositions(
  dependencies: PositionDependencies,
  account: AccountRef,
  query: ListPositionsQuery,
): Promise<{ positions: readonly Position[]; pagination: Pagination } | null> {
  if (query.status === "open" && !(await catchUp(dependencies, account))) return null;
  const { reader } = dependencies;
  const page = await readPage("positions", account, query, (range) => reader.positions(account, query, range));
  return page === null ? null : { positions: page.records, pagination: page.pagination };
}
