import type { ExportRecord } from "@kapi/contracts";

import type { ExportQuery } from "./history-export.ts";

/** A service that owns a part of an account's history. */
export interface HistoryOwner {
  /**
   * The newest `limit` records of the account in the span, newest first; null if there is no such
   * account. Rejects with {@link OwnerUnavailable} while the owner cannot answer.
   */
  newest(serverId: string, accountNumber: string, query: ExportQuery): Promise<readonly ExportRecord[] | null>;
}

/** An owner did not answer, or could not: a retry may succeed. */
export class OwnerUnavailable extends Error {
  override readonly name = "OwnerUnavailable";
}
