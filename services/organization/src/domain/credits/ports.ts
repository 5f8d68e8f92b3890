/** What operations on credits need from outside. */
import type { SettlementRequest, Shard, SyncedWallet } from "@kapi/admission/redis";

import type { AuditRecord } from "../audit.ts";
import type { KeyUse } from "../directory/ports.ts";
import type { LedgerEntry, RecordedEntry } from "./ledger-entry.ts";
import type { UsageDay } from "./usage-day.ts";
import type { UsageLine } from "./usage-line.ts";

/** A command that is not final, with what is reserved for it. */
export interface OpenCommand {
  readonly commandId: string;
  readonly organizationId: string;
  /** Credits. */
  readonly reservedCredits: number;
}

/** What command-status knows of a command. */
export type CommandState = "unknown" | "open" | "final";

/** What the ledger asks of command-status. Every call rejects when it is away. */
export interface CommandStatus {
  /**
   * Resolves once everything published to `commands.*` and `command.events` before the call was
   * taken in.
   */
  readonly caughtUp: () => Promise<void>;
  /** The commands of these organizations that are not final. */
  readonly open: (organizationIds: readonly string[]) => Promise<readonly OpenCommand[]>;
  /** The state of each command, in the order of the ids. */
  readonly states: (commandIds: readonly string[]) => Promise<readonly CommandState[]>;
}

/** Reads where `command.events` begins and ends, per partition. */
export interface EventLog {
  readonly begins: () => Promise<ReadonlyMap<number, bigint>>;
  readonly ends: () => Promise<ReadonlyMap<number, bigint>>;
}

/** A wallet's own events, without its sums. */
export interface WalletRecord {
  readonly organizationId: string;
  readonly id: string;
  readonly lowBalanceThreshold: number;
  readonly createdAtMs: number;
}

/** Where a wallet is in the order of all. */
export interface WalletPlace {
  readonly shard: Shard;
  readonly organizationId: string;
}

/** An entry of the ledger that the wallet in Redis does not have yet. */
export interface PendingWalletChange {
  readonly chargeId: string;
  readonly organizationId: string;
  readonly kind: "purchase" | "consume" | "release";
  readonly credits: number;
  readonly epoch: number;
  /**
   * Whether it waits for so long that Redis may have it and not remember that, or is of a kind that
   * Redis cannot apply: its shard is opened anew. False unless told.
   */
  readonly isOld?: boolean;
}

/** A reservation that nothing has settled. */
export interface Reservation {
  /** When it was made, as PostgreSQL writes it: to the microsecond. */
  readonly at: string;
  readonly chargeId: string;
  /**
   * The command that it was made for; another id than `chargeId` where an earlier reservation of
   * the command came back.
   */
  readonly commandId: string;
  readonly organizationId: string;
  readonly credits: number;
}

/** Where a wallet shard records now. It stays so while the shard's lock is shared. */
export interface LedgerPosition {
  readonly epoch: number;
  /** When the month of the epoch began. */
  readonly beganMs: number;
  /** The table of the month that the epoch is in. */
  readonly table: string;
  /** That of the month that the shard was in before; null: there was none. */
  readonly previousTable: string | null;
}

/** The ledger's partitions. A month is its first day, such as `2026-11-01`, in UTC. */
export interface CreditMonths {
  /** Makes the partition of a month unless it is there. */
  keep(month: string): Promise<void>;
  /**
   * Raises the epochs that are further behind the database's clock, and so takes their shards into
   * the month of now.
   */
  raiseLagging(lagMs: number): Promise<void>;
  /** Drops the oldest month if it is before `firstKept` and nobody is using it; whether it did. */
  dropOldest(firstKept: string): Promise<boolean>;
  /** Deletes closings of wallets that no kept month follows, at most `limit`; returns how many. */
  deleteClosings(limit: number): Promise<number>;
  /** How many entries were put aside. */
  countRefused(): Promise<number>;
}

/** Which reservations are old. */
export interface OldReservations {
  /** Those made before this. */
  readonly beforeMs: number;
  /** The same for exports, and for those of which the operation is not known. */
  readonly longBeforeMs: number;
  /** Only those that come after this one. */
  readonly after: Reservation | null;
}

/** The entries of the ledger that are lines of the usage list. */
export interface UsageLines {
  /** Newest first. */
  page(organizationId: string, limit: number, offset: number): Promise<UsageLine[]>;
  total(organizationId: string): Promise<number>;
  /** Summed up per day and operation, from `firstDay` on; days in no particular order. */
  byDay(organizationId: string, firstDay: string): Promise<UsageDay[]>;
}

/** What is done together or not at all. */
export interface CreditTransaction {
  /**
   * Shares the locks of `shards` until the transaction ends and returns where they record. It comes
   * before anything is read from Redis that the ledger shall record: no opening computes wallets in
   * between, and no month ends.
   */
  shareShardLocks(shards: readonly Shard[]): Promise<ReadonlyMap<Shard, LedgerPosition>>;
  /**
   * Adds what the ledger does not have yet of `told`, in any order and however often it is told;
   * keeps the wallets' sums and the open reservations, and writes an event where a wallet comes down
   * to its low-balance threshold. The shards' locks must be shared. Returns every distinct entry; those
   * of organizations without a wallet are left out, and those that are so old that a dropped month
   * may have them: these are put aside.
   */
  recordEntries(
    positions: ReadonlyMap<Shard, LedgerPosition>,
    told: Iterable<LedgerEntry>,
    nowMs: number,
  ): Promise<RecordedEntry[]>;
  /** Notes that the ledger has all command events of these partitions before `nextOffset`. */
  raiseConsumedOffsets(reached: readonly { partition: number; nextOffset: bigint }[]): void;
  /**
   * How the reservations of these charges ended, with the epoch that it was recorded under; of
   * those that have.
   */
  readSettlements(chargeIds: readonly string[]): Promise<SettlementRequest[]>;
  /** Credits that these charges consumed, by charge id; of those that consumed any. */
  readConsumed(chargeIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** What a purchase id names, or null. */
  readPurchase(purchaseId: string): Promise<{ organizationId: string; credits: number } | null>;
  insertPending(changes: readonly PendingWalletChange[]): Promise<void>;
  /** Makes an organization's wallet, empty, unless it has one. */
  insertWallet(wallet: WalletRecord): Promise<void>;
  readWallet(organizationId: string): Promise<WalletRecord | null>;
  /** Sets the threshold of a wallet, in credits; false: the organization has none. */
  setLowBalanceThreshold(organizationId: string, credits: number, nowMs: number): Promise<boolean>;
  /** Adds entries for the audit log: of those with an event id, those that are not there. */
  recordAudit(records: readonly AuditRecord[]): void;
  /** Notes the first use of each key, with its entry in the audit log; each key once in a call. */
  recordFirstKeyUses(uses: readonly KeyUse[]): void;
}

/** The ledger of the service's own database. */
export interface CreditStore {
  transaction<T>(work: (tx: CreditTransaction) => Promise<T>): Promise<T>;
  organizationExists(id: string): Promise<boolean>;
  readWallet(organizationId: string): Promise<WalletRecord | null>;
  /** The wallets of `shards` in their order, as many as `limit` of those that come after one. */
  walletsOf(shards: readonly Shard[], after: WalletPlace | null, limit: number): Promise<WalletPlace[]>;
  /**
   * Raises the shard's epoch, and gives `open` the shard's wallets and open reservations in batches;
   * one that begins with the wallet that the batch before ended with has more of its reservations.
   * Every entry that they include is of an earlier epoch, every later one of this epoch or above.
   */
  readForSync<T>(
    shard: Shard,
    open: (epoch: number, wallets: AsyncIterable<readonly SyncedWallet[]>) => Promise<T>,
  ): Promise<T>;
  /** Old reservations, the oldest first, as many as `limit` of those that come after one. */
  oldReservations(range: OldReservations, limit: number): Promise<Reservation[]>;
  /** Per partition of `command.events`, the offset before which the ledger has everything. */
  consumedOffsets(): Promise<ReadonlyMap<number, bigint>>;
  insertPending(changes: readonly PendingWalletChange[]): Promise<void>;
  /**
   * At most `limit` changes that wait for Redis, purchases first; none of `exceptTags`. Old: those
   * that wait for longer than `oldAfterMs`.
   */
  readPending(limit: number, exceptShards: readonly Shard[], oldAfterMs: number): Promise<PendingWalletChange[]>;
  /** Removes changes that Redis has. */
  deletePending(chargeIds: readonly string[]): Promise<void>;
}
