import type { SettlementRequest, Shard, SyncedWallet } from "@kapi/admission/redis";
import type { CursorKey, ListCreditUsageQuery } from "@kapi/contracts";

import type { AuditTransaction } from "../audit.ts";
import type { LedgerEntry, RecordedEntry } from "./ledger-entry.ts";
import type { UsageDay } from "./usage-day.ts";
import type { UsageLine } from "./usage-line.ts";

/** A command that is not final, with its reservation. */
export interface OpenCommand {
  readonly commandId: string;
  readonly organizationId: string;
  /** Credits. */
  readonly reservedCredits: number;
}

/** State of a command, as far as command-status knows it. */
export type CommandState = "unknown" | "open" | "final";

/** Every call rejects when command-status is unavailable. */
export interface CommandStatus {
  /**
   * Resolves once command-status has read everything published to `commands.*` and `command.events`
   * before the call.
   */
  readonly caughtUp: () => Promise<void>;
  /** Commands of these organizations that are not final. */
  readonly open: (organizationIds: readonly string[]) => Promise<readonly OpenCommand[]>;
  /** States in the order of the ids. */
  readonly states: (commandIds: readonly string[]) => Promise<readonly CommandState[]>;
}

/** First and end offsets of `command.events`, per partition. */
export interface EventLog {
  readonly begins: () => Promise<ReadonlyMap<number, bigint>>;
  readonly ends: () => Promise<ReadonlyMap<number, bigint>>;
}

/** A wallet without its sums. */
export interface WalletRecord {
  readonly organizationId: string;
  readonly id: string;
  readonly lowBalanceThreshold: number;
  readonly createdAtMs: number;
}

/** Position of a wallet in the order of all wallets. */
export interface WalletPlace {
  readonly shard: Shard;
  readonly organizationId: string;
}

/** A ledger entry that the wallet in Redis perhaps does not have yet. */
export interface PendingWalletChange {
  readonly chargeId: string;
  readonly organizationId: string;
  /** The change of a refund has the kind `release`. */
  readonly kind: "purchase" | "consume" | "release";
  readonly credits: number;
  readonly epoch: number;
  /**
   * Set if Redis may have applied the change, but may no longer remember that it was applied. Also
   * set if the change is a refund that the ledger decided (`convertUsage`). Only a sync of the
   * shard applies such a change.
   */
  readonly isOld?: boolean;
}

/** A reservation without a settlement. */
export interface Reservation {
  /** Time as a text of PostgreSQL, with its microseconds. */
  readonly at: string;
  readonly chargeId: string;
  /** Differs from `chargeId` if an earlier reservation of the command was released. */
  readonly commandId: string;
  readonly organizationId: string;
  readonly credits: number;
}

/** The ledger's partitions. A month is its first day in UTC: `2026-11-01`. */
export interface CreditMonths {
  /** Creates the partition of a month if it is missing. */
  keep(month: string): Promise<void>;
  /**
   * Raises epochs that are more than `lagMs` behind the database's clock. A shard with a raised
   * epoch is in the current month.
   */
  raiseLagging(lagMs: number): Promise<void>;
  /**
   * Drops the oldest month if it is before `firstKept`, not the current or previous month of a
   * shard, and not locked by readers. Returns whether a month was dropped.
   */
  dropOldest(firstKept: string): Promise<boolean>;
  /**
   * Deletes at most `limit` rows of `wallet_closings` (the sums of a wallet at the end of a month)
   * of months before the last dropped month. Returns how many rows it deleted.
   */
  deleteClosings(limit: number): Promise<number>;
  /** Number of entries in `refused_credit_entries`. */
  countRefused(): Promise<number>;
}

/** Which old reservations to read: those without a settlement that were made before a time. */
export interface OldReservations {
  /** Upper bound of the creation time. */
  readonly beforeMs: number;
  /** The bound for reservations of exports and of unknown operations. */
  readonly longBeforeMs: number;
  /** Last reservation of the previous page; null: the first page. */
  readonly after: Reservation | null;
}

/** The filters of the list of usage. */
export type UsageFilter = Omit<ListCreditUsageQuery, "page" | "limit" | "cursor">;

/** The lines to read: skip `offset` lines after the line `after`, then at most `limit` lines. */
export interface UsageRange {
  readonly limit: number;
  readonly offset: number;
  /** Null: the start of the list. */
  readonly after: CursorKey<"usage"> | null;
}

/** A line, and the key by which a cursor names it. */
export interface PlacedLine {
  readonly place: CursorKey<"usage">;
  readonly line: UsageLine;
}

/** The list of usage, and its sums per day. */
export interface UsageLines {
  /** Newest first, each with its place in the list. */
  page(organizationId: string, filter: UsageFilter, range: UsageRange): Promise<PlacedLine[]>;
  /** Number of lines that the filter matches. */
  total(organizationId: string, filter: UsageFilter): Promise<number>;
  /** Sums per day and operation, from `firstDay` on, unordered. */
  byDay(organizationId: string, firstDay: string): Promise<UsageDay[]>;
}

/** One transaction on the ledger. */
export interface CreditTransaction extends AuditTransaction {
  /**
   * Takes shared locks of `shards` until the transaction ends. Until then, no sync reads wallets of
   * these shards, and none of these shards enters another month. Call it before reading usage from
   * Redis. Throws if the epoch of a shard is more than a day old.
   */
  shareShardLocks(shards: readonly Shard[]): Promise<void>;
  /**
   * Adds the entries that the ledger does not have, in any order; updates wallets, open
   * reservations and usage per day; writes an event when a wallet falls to its low-balance
   * threshold. Needs the shards' locks. Returns each distinct entry. A known entry has the credits,
   * action and epoch of its first record, if that is in the current or the previous month. Entries
   * without a wallet are left out. Entries that were perhaps already recorded in a dropped month go
   * to `refused_credit_entries` and are not returned.
   */
  recordEntries(entries: Iterable<LedgerEntry>, nowMs: number): Promise<RecordedEntry[]>;
  /** Records that the ledger has all command events of these partitions before `nextOffset`. */
  raiseConsumedOffsets(reached: readonly { partition: number; nextOffset: bigint }[]): void;
  /**
   * Settlements of these charges, each with its epoch; charges without a settlement are left out.
   */
  readSettlements(chargeIds: readonly string[]): Promise<SettlementRequest[]>;
  /** Consumed credits by charge id; charges that consumed nothing are left out. */
  readConsumed(chargeIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Null: the purchase id is unused. */
  readPurchase(purchaseId: string): Promise<{ organizationId: string; credits: number } | null>;
  insertPending(changes: readonly PendingWalletChange[]): Promise<void>;
  /** Creates an empty wallet unless the organization has one. */
  insertWallet(wallet: WalletRecord): Promise<void>;
  readWallet(organizationId: string): Promise<WalletRecord | null>;
  /** False: the organization has no wallet. */
  setLowBalanceThreshold(organizationId: string, credits: number, nowMs: number): Promise<boolean>;
}

/** Transactions on the ledger, and reads and single writes outside of them. */
export interface CreditStore {
  transaction<T>(work: (tx: CreditTransaction) => Promise<T>): Promise<T>;
  organizationExists(id: string): Promise<boolean>;
  readWallet(organizationId: string): Promise<WalletRecord | null>;
  /** At most `limit` wallets of `shards` after `after`, in order. */
  walletsOf(shards: readonly Shard[], after: WalletPlace | null, limit: number): Promise<WalletPlace[]>;
  /**
   * Raises the shard's epoch and passes its wallets and open reservations to `sync` in batches. The
   * last wallet of a batch may continue in the next batch. The wallets include exactly the entries
   * of earlier epochs.
   */
  readForSync<T>(
    shard: Shard,
    sync: (epoch: number, wallets: AsyncIterable<readonly SyncedWallet[]>) => Promise<T>,
  ): Promise<T>;
  /** At most `limit` old reservations, oldest first. */
  oldReservations(range: OldReservations, limit: number): Promise<Reservation[]>;
  /** The offset of each partition of `command.events` before which the ledger has all events. */
  consumedOffsets(): Promise<ReadonlyMap<number, bigint>>;
  insertPending(changes: readonly PendingWalletChange[]): Promise<void>;
  /**
   * At most `limit` changes that wait for Redis, purchases first. Changes of `exceptShards` are
   * left out. A change is old after `oldAfterMs`.
   */
  readPending(limit: number, exceptShards: readonly Shard[], oldAfterMs: number): Promise<PendingWalletChange[]>;
  /** Removes changes that Redis has applied. */
  deletePending(chargeIds: readonly string[]): Promise<void>;
}
