/** Lists about one account. Other services own these lists. */
import type { AccountRef } from "@kapi/contracts";

/** The names of the lists. In an answer, the field with this name has the records of the list. */
export const RECORD_LISTS = ["orders", "positions", "deals", "transactions"] as const;
/** The name of a list about an account. */
export type RecordList = (typeof RECORD_LISTS)[number];

/** Fields of the query of a list, as the service that owns the list parses them. */
export type RecordQuery = Readonly<Record<string, string | number | undefined>>;

/**
 * Reads lists about one account. Callers first check that the server belongs to the organization.
 */
export interface AccountRecords {
  /**
   * Body of a page, newest first; null: the service that owns the list does not know the account.
   * For transactions, null only if the account was deleted: finance returns an empty list for an
   * unknown account. Throws ApiError TOO_MANY_CONCURRENT_REQUESTS if the organization uses its
   * whole share of calls to its trading servers.
   */
  page(list: RecordList, account: AccountRef, query: RecordQuery): Promise<Buffer | null>;
}
