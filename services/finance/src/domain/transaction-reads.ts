/** What readers of the ledger ask for, and what they get: rows as the API shows them. */
import type { PageQuery, Transaction } from "@kapi/contracts";

import type { AccountName } from "./ledger.ts";

/**
 * How the ledger stands to an account: it has rows, or has never seen it, or the account was
 * deleted for good.
 */
export type AccountStanding = "known" | "unknown" | "deleted";

/** A page, newest first. `total` counts all transactions of the account at the same moment. */
export interface TransactionPage {
  readonly standing: AccountStanding;
  readonly total: number;
  readonly transactions: readonly Transaction[];
}

/** Times, both inclusive, ISO 8601; null: no bound. On `recordedAt`. */
export interface TimeSpan {
  readonly from: string | null;
  readonly to: string | null;
}

/** How far an account is booked. */
export interface BookedSoFar {
  readonly standing: AccountStanding;
  /** Sequence of the last booked event of the trading server; 0 for an account never seen. */
  readonly lastSequence: number;
}

/** The ledger as readers see it. */
export interface TransactionReader {
  page(account: AccountName, query: PageQuery): Promise<TransactionPage>;
  /**
   * The newest `limit` of a span, newest first; those of one moment in the order of their sequence,
   * the last first.
   */
  newest(account: AccountName, span: TimeSpan, limit: number): Promise<readonly Transaction[]>;
  bookedSoFar(account: AccountName): Promise<BookedSoFar>;
}

/** Which accounts were deleted for good. */
export interface DeletionBook {
  /** Idempotent. The account need not be known. */
  mark(account: AccountName): Promise<void>;
}
