import type { Shard } from "@kapi/admission/redis";

import type { LedgerWallet } from "./drift.ts";
import type { LedgerEntry, WalletDelta } from "./ledger-entry.ts";

/** A check that found no drift in a wallet's entries. */
export interface WalletCheck {
  readonly organizationId: string;
  /** The sums include all entries up to this epoch. */
  readonly epoch: number;
  readonly sums: WalletDelta;
  /**
   * When all entries were last summed up. For dropped months, {@link CheckableWallet.closing} was
   * used.
   */
  readonly wholeAtMs: number;
}

/** A wallet of the ledger, with the data for its check. */
export interface CheckableWallet extends LedgerWallet {
  readonly usageLines: number;
  /** Whether a change is in the ledger and perhaps not in Redis. */
  readonly waitsForRedis: boolean;
  /** The last check that found no drift; null: there was none. */
  readonly checked: WalletCheck | null;
  /** Sums of the dropped months and their last epoch; null: no month was dropped. */
  readonly closing: Pick<WalletCheck, "epoch" | "sums"> | null;
}

/** Some wallets of a shard, at one epoch. */
export interface WalletPage {
  /** Ordered by organization. */
  readonly wallets: readonly CheckableWallet[];
  /**
   * The sums include every entry of the shard up to this epoch. Later entries have a higher epoch.
   */
  readonly throughEpoch: number;
}

/** The entries of an organization after an epoch. */
export interface EntriesAfter {
  readonly organizationId: string;
  readonly afterEpoch: number;
}

/** Number and sums of some entries of a wallet. */
export interface EntrySums {
  readonly entries: number;
  readonly sums: WalletDelta;
}

/** The reads and writes of the drift check in the ledger. */
export interface WalletChecks {
  /** Shards that have wallets. */
  shards(): Promise<Shard[]>;
  /**
   * Passes at most `limit` wallets of organizations after `afterId` to `work`. Nothing is recorded
   * in the shard until `work` ends. `unrecorded` returns those of the given entries that the ledger
   * does not have.
   */
  withPage<T>(
    shard: Shard,
    afterId: string,
    limit: number,
    work: (page: WalletPage, unrecorded: (entries: readonly LedgerEntry[]) => Promise<LedgerEntry[]>) => Promise<T>,
  ): Promise<T>;
  /** Sums up the entries of `asked` up to `throughEpoch`. */
  sumEntries(asked: readonly EntriesAfter[], throughEpoch: number): Promise<ReadonlyMap<string, EntrySums>>;
  /** Stores checks that found no drift. The next check of their wallets starts from them. */
  keep(checks: readonly WalletCheck[]): Promise<void>;
}
