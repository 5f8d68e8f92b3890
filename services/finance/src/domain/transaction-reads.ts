/** Reads of the ledger, as the API shows its rows. */
import type { ListTransactionsQuery, Transaction, AccountRef } from "@kapi/contracts";

/** Whether the ledger has the account, has never seen it, or the account was deleted for good. */
export type AccountStanding = "known" | "unknown" | "deleted";

/** The filters of the list. */
export type TransactionFilter = Omit<ListTransactionsQuery, "page" | "limit" | "cursor">;

/** The rows to read: at most `limit` rows after the first `offset` rows. */
export interface PageRange {
  readonly offset: number;
  readonly limit: number;
  /** Only transactions whose sequence is below this number; null: all. */
  readonly below: number | null;
}

/** Transactions, newest first. `total` counts all matching rows, as of the same time. */
export interface TransactionPage {
  readonly standing: AccountStanding;
  readonly total: number;
  readonly transactions: readonly Transaction[];
}

/** Inclusive bounds of `recordedAt`, to the millisecond, in ISO 8601; null is unbounded. */
export interface TimeSpan {
  readonly from: string | null;
  readonly to: string | null;
}

/** The booked state of an account. */
export interface BookedSoFar {
  readonly standing: AccountStanding;
  /** Sequence of the last booked event; 0 for an unknown account. */
  readonly lastSequence: number;
}

/** Reads the ledger. */
export interface TransactionReader {
  page(account: AccountRef, filter: TransactionFilter, range: PageRange): Promise<TransactionPage>;
  /** A transaction on one of the servers; null: there is none, or its account was deleted. */
  find(
    serverIds: readonly string[],
    transactionId: string,
  ): Promise<(Transaction & { readonly serverId: string }) | null>;
  /**
   * The newest `limit` transactions of a span, newest first; equal times by descending sequence.
   */
  newest(account: AccountRef, span: TimeSpan, limit: number): Promise<readonly Transaction[]>;
  /**
   * The balance in minor units after all transactions up to the end of the millisecond `at` (ISO
   * 8601); 0 before the first transaction, null if the account was deleted.
   */
  balanceAt(account: AccountRef, at: string): Promise<number | null>;
  /** How far the account is booked, and whether the ledger knows the account. */
  bookedSoFar(account: AccountRef): Promise<BookedSoFar>;
}

/** Marks accounts as deleted for good. */
export interface DeletionMarks {
  /** Idempotent. The account may be unknown. */
  mark(account: AccountRef): Promise<void>;
}
