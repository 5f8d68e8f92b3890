import type { DirectoryEntry, KeyEntry, Prices, ServerEntry } from "@kapi/contracts";
import type { SyncedWallet, SettlementRequest, Shard } from "@kapi/admission/redis";

import type { AuditRecord, FetchedAuditRecord } from "./audit.ts";
import type { Users } from "./console-ports.ts";
import type { Leg, RecordedLeg } from "./leg.ts";
import type { ManagementKey } from "./management-key.ts";
import type { RowRange } from "./row-range.ts";
import type { UsageDay } from "./usage-day.ts";
import type { UsageLeg } from "./usage-line.ts";

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
  /** Resolves once everything published to `commands.*` and `command.events` before the call was taken in. */
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

/** A wallet's own facts, without its sums. */
export interface WalletRecord {
  readonly organizationId: string;
  readonly id: string;
  readonly lowBalanceThreshold: number;
  readonly createdAtMs: number;
}

/** Where a wallet is in the order of all. */
export interface WalletPlace {
  readonly tag: Shard;
  readonly organizationId: string;
}

/** A leg of the ledger that the wallet in Redis does not have yet. */
export interface PendingWalletChange {
  readonly chargeId: string;
  readonly organizationId: string;
  readonly kind: "purchase" | "consume" | "release";
  readonly credits: number;
  readonly epoch: number;
  /**
   * Whether it waits for so long that Redis may have it and not remember that, or is of a kind that
   * Redis cannot apply: its tag is opened anew. False unless told.
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
  readonly entries: string;
  /** That of the month that the shard was in before; null: there was none. */
  readonly previousEntries: string | null;
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

export type NewKey = Omit<KeyEntry, "kind" | "version" | "status"> & Pick<ManagementKey, "name">;
export type NewServer = Pick<
  ServerEntry,
  "serverId" | "organizationId" | "tradingServerUrl" | "configuration" | "sealedToken"
>;

/** A server that was added or changed. */
export interface RegisteredServer {
  readonly server: ServerEntry;
  /** As it was before; null: it is new. */
  readonly before: NewServer | null;
}

/** An organization, as the operator's list has it. */
export interface Organization {
  readonly organizationId: string;
  readonly name: string;
  readonly createdAt: string;
}

/** What is done together or not at all. Directory changes are told of through the outbox, in the same transaction. */
export interface StoreTransaction {
  /**
   * Shares the locks of `tags` until the transaction ends and returns where they record. It comes
   * before anything is read from Redis that the ledger shall record: no opening computes wallets in
   * between, and no month ends.
   */
  shareTagLocks(tags: readonly Shard[]): Promise<ReadonlyMap<Shard, LedgerPosition>>;
  /**
   * Adds what the ledger does not have yet of `told`, in any order and however often it is told;
   * keeps the wallets' sums and the open reservations, and writes a fact where a wallet comes down
   * to its low-balance threshold. The tags' locks must be shared. Returns every distinct leg; those
   * of organizations without a wallet are left out, and those that are so old that a dropped month
   * may have them: these are put aside.
   */
  recordLegs(positions: ReadonlyMap<Shard, LedgerPosition>, told: Iterable<Leg>, nowMs: number): Promise<RecordedLeg[]>;
  /** Notes that the ledger has all command events of these partitions before `nextOffset`. */
  raiseConsumedOffsets(reached: readonly { partition: number; nextOffset: bigint }[]): void;
  /** How the reservations of these charges ended, with the epoch that it was recorded under; of those that have. */
  readSettlements(chargeIds: readonly string[]): Promise<SettlementRequest[]>;
  /** Credits that these charges consumed, by charge id; of those that consumed any. */
  readConsumed(chargeIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** What a purchase id names, or null. */
  readPurchase(purchaseId: string): Promise<{ organizationId: string; credits: number } | null>;
  insertPending(changes: readonly PendingWalletChange[]): Promise<void>;
  insertOrganization(id: string, name: string, nowMs: number): Promise<void>;
  /** Makes an organization's wallet, empty, unless it has one. */
  insertWallet(wallet: WalletRecord): Promise<void>;
  readWallet(organizationId: string): Promise<WalletRecord | null>;
  /** Sets the threshold of a wallet, in credits; false: the organization has none. */
  setLowBalanceThreshold(organizationId: string, credits: number, nowMs: number): Promise<boolean>;
  /**
   * How many keys an organization has: those that can be used, and all with revoked and expired
   * ones. Until the transaction ends nobody else adds one.
   */
  lockAndCountKeys(organizationId: string, nowMs: number): Promise<{ readonly active: number; readonly total: number }>;
  insertKey(key: NewKey, nowMs: number): Promise<ManagementKey>;
  /**
   * Revokes a key; a revoked key stays so, and is not new. Null: there is no such key, or it is not
   * of the organization, where one is named.
   */
  revokeKey(
    keyId: string,
    organizationId: string | null,
    nowMs: number,
  ): Promise<{ readonly key: ManagementKey; readonly isNew: boolean } | null>;
  /** Sets the status of a server of the organization; whether it had another one. */
  setServerStatus(organizationId: string, serverId: string, status: "active" | "disabled"): Promise<boolean>;
  /** Adds a server, or changes where it is reached. Null: the id is another organization's. */
  upsertServer(server: NewServer, nowMs: number): Promise<RegisteredServer | null>;
  setPrices(prices: Prices): Promise<void>;
  /** The people of all organizations, in this transaction. */
  readonly users: Users;
  /** Adds entries to the audit log, of those with an event id those that it does not have. */
  recordAudit(records: readonly AuditRecord[]): void;
  /** The same for entries of other services. */
  recordFetchedAudit(records: readonly FetchedAuditRecord[]): void;
  /** Notes the first use of each key, with its entry in the audit log; each key once in a call. */
  recordFirstKeyUses(uses: readonly KeyUse[]): void;
}

/** A request that was billed to a management key. */
export interface KeyUse {
  readonly keyId: string;
  readonly atMs: number;
  /** Network address that it came from; null: not known. */
  readonly address: string | null;
}

/** The legs of the ledger that are lines of the usage list. */
export interface UsageLines {
  /** Newest first. */
  page(organizationId: string, limit: number, offset: number): Promise<UsageLeg[]>;
  total(organizationId: string): Promise<number>;
  /** Summed up per day and operation, from `firstDay` on; days in no particular order. */
  byDay(organizationId: string, firstDay: string): Promise<UsageDay[]>;
}

/** The service's own database. */
export interface Store {
  transaction<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T>;
  organizationExists(id: string): Promise<boolean>;
  /** Newest first. */
  readOrganizations(range: RowRange): Promise<Organization[]>;
  countOrganizations(): Promise<number>;
  /** Active keys first, then the newest first. */
  readKeys(organizationId: string, range: RowRange): Promise<ManagementKey[]>;
  countKeys(organizationId: string): Promise<number>;
  /** Servers that were not removed, oldest first. */
  readServers(organizationId: string, range: RowRange): Promise<ServerEntry[]>;
  countServers(organizationId: string): Promise<number>;
  /** A server, if it is the organization's and was not removed. */
  readServer(organizationId: string, serverId: string): Promise<ServerEntry | null>;
  readWallet(organizationId: string): Promise<WalletRecord | null>;
  /** The wallets of `tags` in their order, as many as `limit` of those that come after one. */
  walletsOf(tags: readonly Shard[], after: WalletPlace | null, limit: number): Promise<WalletPlace[]>;
  /**
   * Raises the tag's epoch, and gives `open` the tag's wallets and open reservations in batches;
   * one that begins with the wallet that the batch before ended with has more of its reservations.
   * Every leg that they include is of an earlier epoch, every later one of this epoch or above.
   */
  readForOpening<T>(
    tag: Shard,
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
  readPending(limit: number, exceptTags: readonly Shard[], oldAfterMs: number): Promise<PendingWalletChange[]>;
  /** Removes changes that Redis has. */
  deletePending(chargeIds: readonly string[]): Promise<void>;
  /** Every entry of the directory, some hundred at a time. */
  readDirectory(): AsyncIterable<readonly DirectoryEntry[]>;
}
