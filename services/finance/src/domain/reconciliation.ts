/**
 * Comparing an account's ledger with its trading server: at one and the same sequence, or not at
 * all.
 */
import type { AccountName } from "./ledger.ts";

/** What the trading server says of an account. */
export interface ServerSide {
  /** Sequence of the account's last event that the balance includes. */
  readonly sequence: number;
  readonly balanceMinor: number;
}

/** What the ledger says of an account at the server's sequence. */
export interface LedgerSide extends AccountName {
  /** Sequence of the last booked event. */
  readonly lastSequence: number;
  /** Balance after the last booked event that is not beyond the server's sequence. */
  readonly balanceMinor: number;
}

/**
 * `agrees`; `differs`: booked to the same sequence, another balance; `missing`: the ledger has
 * money on an account that the trading server never had; `behind`: not booked up to the server's
 * sequence yet, so nothing can be said.
 */
export type Finding = "agrees" | "differs" | "missing" | "behind";

/** Compares the two sides; `server` is null where the trading server never had the account. */
export function findingOf(ledger: Omit<LedgerSide, keyof AccountName>, server: ServerSide | null): Finding {
  if (server === null) return ledger.balanceMinor === 0 ? "agrees" : "missing";
  if (ledger.lastSequence < server.sequence) return "behind";
  return ledger.balanceMinor === server.balanceMinor ? "agrees" : "differs";
}

/** An account whose ledger and trading server do not agree; told, never mended. */
export interface Difference extends AccountName {
  readonly finding: "differs" | "missing";
  readonly ledgerBalanceMinor: number;
  /** Null: the trading server never had the account. */
  readonly serverBalanceMinor: number | null;
  readonly sequence: number;
}

/** Accounts whose ledgers are compared, and what those say. */
export interface LedgerBalances {
  /**
   * At most `limit` accounts behind `previous` in an order that stays the same; accounts that were
   * deleted are left out.
   */
  after(previous: AccountName | null, limit: number): Promise<readonly AccountName[]>;
  /**
   * Each account that the ledger knows as it is, or was, at `sequence` (null: now), in no
   * particular order.
   */
  balancesAt(accounts: readonly (AccountName & { readonly sequence: number | null })[]): Promise<readonly LedgerSide[]>;
}
