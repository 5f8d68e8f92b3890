import type { ExportRecord } from "@kapi/contracts";

import type { ExportQuery } from "./history-export.ts";

/** A service that owns a part of an account's history. */
export interface HistoryOwner {
  /**
   * The newest `limit` of its records of the account in the span, newest first; null where there is
   * no such account (any more). Rejects with {@link OwnerUnavailable} where the owner cannot tell
   * now.
   */
  newest(serverId: string, accountNumber: string, query: ExportQuery): Promise<readonly ExportRecord[] | null>;
}

/** An owner was not reached, or could not tell: the same may succeed a little later. */
export class OwnerUnavailable extends Error {
  override readonly name = "OwnerUnavailable";
}
