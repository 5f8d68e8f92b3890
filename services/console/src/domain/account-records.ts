/** The lists of one account that other services own. */
import type { AccountName } from "./ports.ts";

/** The lists, by the name of their records in the answer. */
export const RECORD_LISTS = ["orders", "positions", "deals", "transactions"] as const;
/** The name of a list about an account. */
export type RecordList = (typeof RECORD_LISTS)[number];

/** Fields of the query of a list, as its owner parses them. */
export type RecordQuery = Readonly<Record<string, string | number | undefined>>;

/** Reads the lists of accounts. Check the owner of a server first. */
export interface AccountRecords {
  /**
   * Body of a page, newest first; null: the owner does not know the account. Finance knows only
   * accounts with transactions, and shows an empty list for all others.
   */
  page(list: RecordList, account: AccountName, query: RecordQuery): Promise<Buffer | null>;
}
