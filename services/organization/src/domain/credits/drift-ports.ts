import type { Shard } from "@kapi/admission/redis";

import type { LedgerWallet } from "./drift.ts";
import type { Leg, WalletDelta } from "./leg.ts";
import type { LedgerPosition } from "./ports.ts";

/** What a check found to be right. */
export interface WalletCheck {
  readonly organizationId: string;
  /** The legs of this epoch and below are in the sums. */
  readonly epoch: number;
  readonly sums: WalletDelta;
  /** When all legs were last read, from the first on. */
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

export interface WalletLook {
  /** Ordered by organization. */
  readonly wallets: readonly CheckableWallet[];
  /**
   * Every leg of the tag up to this epoch is in the sums of the wallets; those recorded later are
   * of a higher one.
   */
  readonly throughEpoch: number;
  /** Where the tag records from the look on. */
  readonly position: LedgerPosition;
}

export interface LegSums {
  readonly legs: number;
  readonly sums: WalletDelta;
}

/** What checks of wallets read and keep. */
export interface WalletChecks {
  /** The tags that have wallets. */
  tags(): Promise<Shard[]>;
  /** Runs `work` in a transaction; from its `look` on nothing is recorded in the tag. */
  alone<T>(
    work: (tx: {
      /** Wallets of a tag, at most `limit`, of organizations after `afterId`. */
      look(tag: Shard, afterId: string, limit: number): Promise<WalletLook>;
      /** Those of `told` that the ledger does not have. */
      unrecorded(seen: WalletLook, told: readonly Leg[]): Promise<Leg[]>;
    }) => Promise<T>,
  ): Promise<T>;
  /** Sums up the legs of each organization above `afterEpoch`, up to `throughEpoch`. */
  sumLegs(
    asked: readonly { readonly organizationId: string; readonly afterEpoch: number }[],
    throughEpoch: number,
  ): Promise<ReadonlyMap<string, LegSums>>;
  keep(checks: readonly WalletCheck[]): Promise<void>;
}
