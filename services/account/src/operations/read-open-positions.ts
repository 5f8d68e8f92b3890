import { MAX_STATE_POSITIONS, type AccountRef } from "@kapi/contracts";

import type { HistoryReader, OpenPositions } from "../domain/history-ports.ts";
import { catchUp, type CatchUpDependencies } from "./catch-up.ts";

interface OpenPositionDependencies extends CatchUpDependencies {
  readonly reader: Pick<HistoryReader, "openAt" | "bookedSequence">;
}

/**
 * The positions of an account that were open at a time (ISO 8601), newest first (decisions, 4.12);
 * null if there is no such account. Before the read, books the account's events up to the trading
 * server's sequence, or rejects as {@link catchUp} does.
 */
export async function readOpenPositions(
  dependencies: OpenPositionDependencies,
  account: AccountRef,
  at: string,
): Promise<OpenPositions | null> {
  if (!(await catchUp(dependencies, account))) return null;
  return dependencies.reader.openAt(account, at, MAX_STATE_POSITIONS);
}
