import type { Shard } from "@kapi/admission/redis";

import type { LedgerWallet } from "./drift.ts";
import type { LedgerEntry, WalletDelta } from "./ledger-entry.ts";
import type { LedgerPosition } from "./ports.ts";

/** What a check found to be right. */
export interface WalletCheck {
  readonly organizationId: string;
  /** The entries of this epoch and below are in the sums. */
  readonly epoch: number;
  readonly sums: WalletDelta;
  /** When all entries were last read, from the first on. */
  readonly wholeAtMs: number;
}

/** A wallet of the ledger, with what a check of it needs. */
export interface CheckableWallet extends LedgerWallet {
  readonly usageLines: number;
  /** Whether a change of it is in the ledger and not surely in Redis. */
  readonly waitsForRedis: boolean;
  /** The last check; null: there was none. */
  readonly checked: WalletCheck | null;
  /** What the dropped months summed up to, and the last epoch of them; null: none was dropped. */
  readonly closed: Pick<WalletCheck, "epoch" | "sums"> | null;
}

export interface WalletPage {
  /** Ordered by organization. */
  readonly wallets: readonly CheckableWallet[];
  /**
   * Every entry of the shard up to this epoch is in the sums of the wallets; those recorded later are
   * of a higher one.
   */
  readonly throughEpoch: number;
  /** Where the shard records from the look on. */
  readonly position: LedgerPosition;
}

export interface EntrySums {
  readonly entries: number;
  readonly sums: WalletDelta;
}

/** What checks of wallets read and keep. */
export interface WalletChecks {
  /** The shards that have wallets. */
  shards(): Promise<Shard[]>;
  /** Runs `work` in a transaction; from its `look` on nothing is recorded in the shard. */
  exclusively<T>(
    work: (tx: {
      /** Wallets of a shard, at most `limit`, of organizations after `afterId`. */
      readPage(shard: Shard, afterId: string, limit: number): Promise<WalletPage>;
      /** Those of `told` that the ledger does not have. */
      unrecorded(seen: WalletPage, told: readonly LedgerEntry[]): Promise<LedgerEntry[]>;
    }) => Promise<T>,
  ): Promise<T>;
  /** Sums up the entries of each organization above `afterEpoch`, up to `throughEpoch`. */
  sumEntries(
    asked: readonly { readonly organizationId: string; readonly afterEpoch: number }[],
    throughEpoch: number,
  ): Promise<ReadonlyMap<string, EntrySums>>;
  keep(checks: readonly WalletCheck[]): Promise<void>;
}
