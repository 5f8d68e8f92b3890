/** Compares an account's ledger with its trading server, only at equal sequences. */
import type { AccountRef } from "@kapi/contracts";

/** The trading server's state of an account. */
export interface ServerSide {
  /** Sequence of the last event that the balance includes. */
  readonly sequence: number;
  readonly balanceMinor: number;
}

/** The ledger's state of an account at the server's sequence. */
export interface LedgerSide extends AccountRef {
  /** Sequence of the last booked event. */
  readonly lastSequence: number;
  /**
   * Balance after the last booked event up to the server's sequence; the balance now if the trading
   * server never had the account.
   */
  readonly balanceMinor: number;
}

/**
 * Logs and metrics call this result `finding`.
 * - `agrees`: equal balances, or no money on an account that the trading server never had.
 * - `differs`: different balances at the same sequence.
 * - `missing`: the ledger has money on an account that the trading server never had.
 * - `behind`: not booked up to the server's sequence yet, so not comparable.
 */
export type ComparisonResult = "agrees" | "differs" | "missing" | "behind";

/** Compares both balances; `server` is null if the trading server never had the account. */
export function compareBalances(
  ledger: Omit<LedgerSide, keyof AccountRef>,
  server: ServerSide | null,
): ComparisonResult {
  if (server === null) return ledger.balanceMinor === 0 ? "agrees" : "missing";
  if (ledger.lastSequence < server.sequence) return "behind";
  return ledger.balanceMinor === server.balanceMinor ? "agrees" : "differs";
}

/** A difference between ledger and trading server. Reported, never corrected. */
export interface Difference extends AccountRef {
  readonly finding: "differs" | "missing";
  readonly ledgerBalanceMinor: number;
  /** Null if the trading server never had the account. */
  readonly serverBalanceMinor: number | null;
  /**
   * The sequence at which the balances were compared. If the trading server never had the account:
   * the sequence of the last booked event.
   */
  readonly sequence: number;
}

/** Reads the balances to compare. */
export interface LedgerBalances {
  /** Up to `limit` accounts after `previous` in a stable order, without deleted accounts. */
  after(previous: AccountRef | null, limit: number): Promise<readonly AccountRef[]>;
  /** The ledger's state of each known account at `sequence` (null: now), in any order. */
  balancesAt(accounts: readonly (AccountRef & { readonly sequence: number | null })[]): Promise<readonly LedgerSide[]>;
}
