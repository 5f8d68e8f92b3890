import type { ExportRecord } from "@kapi/contracts";

import type { ExportQuery } from "./history-export.ts";

/** A service that owns a part of an account's history. */
export interface HistoryOwner {
  /**
   * The newest `limit` records of the account within the times of `query`, newest first; null if
   * there is no such account. Rejects with {@link OwnerUnavailable} while the owner cannot answer.
   */
  newest(serverId: string, accountNumber: string, query: ExportQuery): Promise<readonly ExportRecord[] | null>;
}

/** An owner cannot answer now: a retry may succeed. */
export class OwnerUnavailable extends Error {
  override readonly name = "OwnerUnavailable";
}
