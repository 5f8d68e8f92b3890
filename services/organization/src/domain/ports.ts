import type { DirectoryEntry, KeyEntry, Prices, ServerEntry } from "@kapi/contracts";
import type { OpeningWallet, SettlementRequest, Tag } from "@kapi/redis";

import type { Leg, RecordedLeg } from "./leg.ts";
import type { ManagementKey } from "./management-key.ts";
import type { UsageDay } from "./usage-day.ts";
import type { UsageLeg } from "./usage-line.ts";

/** A command that is not final, with what is reserved for it. */
export interface OpenCommand {
  readonly commandId: string;
  readonly organizationId: string;
  /** Credits. */
  readonly reservedCredits: number;
}

/** What the ledger asks of command-status. Every call rejects when it is away. */
export interface CommandStatus {
  /** Resolves once everything published to `commands.*` and `command.events` before the call was taken in. */
  readonly caughtUp: () => Promise<void>;
  /** The commands of these organizations that are not final. */
  readonly open: (organizationIds: readonly string[]) => Promise<readonly OpenCommand[]>;
  /** Per command id, whether the command is known. */
  readonly known: (commandIds: readonly string[]) => Promise<readonly boolean[]>;
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

/** A leg of the ledger that the wallet in Redis does not have yet. */
export interface PendingWalletChange {
  readonly chargeId: string;
  readonly organizationId: string;
  readonly kind: "purchase" | "consume" | "release";
  readonly credits: number;
  readonly epoch: number;
}

/** A reservation that nothing has settled. */
export interface Reservation {
  readonly atMs: number;
  readonly chargeId: string;
  readonly organizationId: string;
  readonly credits: number;
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
export type NewServer = Pick<ServerEntry, "serverId" | "organizationId" | "tradingServerUrl" | "configuration">;

/** Rows of a list: `limit` of them after the first `offset`. */
export interface RowRange {
  readonly limit: number;
  readonly offset: number;
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
   * Shares the locks of `tags` until the transaction ends and returns their epochs. It comes before anything is read from
   * Redis that the ledger shall record: no opening computes wallets in between.
   */
  shareTagLocks(tags: readonly Tag[]): Promise<ReadonlyMap<Tag, number>>;
  /**
   * Adds what the ledger does not have yet of `told`, in any order and however often it is told; keeps the wallets' sums and
   * the open reservations, and writes a fact where a wallet comes down to its low-balance threshold. The tags' locks must be
   * shared. Returns every distinct leg; those of organizations without a wallet are left out.
   */
  recordLegs(epochs: ReadonlyMap<Tag, number>, told: Iterable<Leg>, nowMs: number): Promise<RecordedLeg[]>;
  /** Notes that the ledger has all command events of these partitions before `nextOffset`. */
  raiseConsumedOffsets(reached: readonly { partition: number; nextOffset: bigint }[]): void;
  /**
   * Raises the tag's epoch and reads its wallets and open reservations. Alone with the tag until the transaction ends: every
   * leg that the wallets include is of an earlier epoch, every later one of this epoch or above.
   */
  readForOpening(tag: Tag): Promise<{ epoch: number; wallets: OpeningWallet[] }>;
  /** How the reservations of these charges ended, with the epoch that it was recorded under; of those that have. */
  readSettlements(chargeIds: readonly string[]): Promise<SettlementRequest[]>;
  /** What a purchase id names, or null. */
  readPurchase(purchaseId: string): Promise<{ organizationId: string; credits: number } | null>;
  insertPending(changes: readonly PendingWalletChange[]): Promise<void>;
  insertOrganization(id: string, name: string, nowMs: number): Promise<void>;
  /** Makes an organization's wallet, empty, unless it has one. */
  insertWallet(wallet: WalletRecord): Promise<void>;
  readWallet(organizationId: string): Promise<WalletRecord | null>;
  /** Sets the threshold of a wallet, in credits; false: the organization has none. */
  setLowBalanceThreshold(organizationId: string, credits: number, nowMs: number): Promise<boolean>;
  insertKey(key: NewKey, nowMs: number): Promise<ManagementKey>;
  /** Revokes a key; a revoked key stays so. Null: there is no such key, or it is not of the organization, where one is named. */
  revokeKey(keyId: string, organizationId: string | null, nowMs: number): Promise<ManagementKey | null>;
  /** Sets the status of a server of the organization. */
  setServerStatus(organizationId: string, serverId: string, status: "active" | "disabled"): Promise<void>;
  /** Adds a server, or changes where it is reached. Null: the id is another organization's. */
  upsertServer(server: NewServer, nowMs: number): Promise<ServerEntry | null>;
  setPrices(prices: Prices): Promise<void>;
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
  /** The organizations with a wallet in one of `tags`. */
  organizationsOf(tags: readonly Tag[]): Promise<string[]>;
  /** Old reservations, the oldest first, as many as `limit` of those that come after one. */
  oldReservations(range: OldReservations, limit: number): Promise<Reservation[]>;
  /** Per partition of `command.events`, the offset before which the ledger has everything. */
  consumedOffsets(): Promise<ReadonlyMap<number, bigint>>;
  insertPending(changes: readonly PendingWalletChange[]): Promise<void>;
  /** At most `limit` changes that wait for Redis, purchases first; none of `exceptTags`. */
  readPending(limit: number, exceptTags: readonly Tag[]): Promise<PendingWalletChange[]>;
  /** Removes changes that Redis has. */
  deletePending(chargeIds: readonly string[]): Promise<void>;
  /** Every entry of the directory, some hundred at a time. */
  readDirectory(): AsyncIterable<readonly DirectoryEntry[]>;
}
