import type { SampleRange } from "@kapi/contracts/codec";
import type {
  AccountFilters,
  AccountMetricSnapshot,
  AccountOrder,
  EquityHistory,
  FollowRequest,
  StoredAccountValues,
  WindowsHolding,
} from "@kapi/contracts";

import type { AggregatorState, ClosedMinute } from "./minute-aggregator.ts";
import type { AccountId } from "./sample.ts";

/** Writes samples to the log, and knows where the log ends. */
export interface SampleSink {
  /** Resolves when the sample is in the log; rejects if that is unknown. */
  write(partition: number, key: string, range: SampleRange, frame: Buffer): Promise<void>;
  /** The offset after the last sample of a partition. */
  endOf(partition: number): Promise<bigint>;
}

/** A connection to a windows process. Requests are sent in order. */
export interface WindowLink {
  /** What the process holds. */
  readonly holding: WindowsHolding;
  follow(request: FollowRequest): void;
  unfollow(channel: number): void;
}

/** How far this process has read the samples. */
export interface SampleProgress {
  /**
   * Resolves when this process has applied every sample of `partition` before `end`; rejects after
   * `timeoutMs`.
   */
  reached(partition: number, end: bigint, timeoutMs: number): Promise<void>;
}

/** Writes checkpoints; the last value of a key wins. */
export interface CheckpointSink {
  write(partition: number, key: string, value: string): Promise<void>;
}

/** Keeps some of the rejected valuations for inspection. */
export interface RejectedValuationSink {
  write(
    partition: number,
    record: { readonly key: string; readonly value: Buffer | null; readonly offset: bigint },
    reason: string,
  ): Promise<void>;
}

/** The generation of a topic: how often the topic was recreated, and the age of this generation. */
export interface TopicGeneration {
  readonly generation: number;
  readonly ageMs: number;
}

/** The generations of topics. */
export interface TopicGenerationStore {
  /** Returns the generation of the topic with this id; a new id gets the next number. */
  register(topic: string, topicId: string): Promise<TopicGeneration>;
}

/** Whether accounts exist. */
export interface AccountExistence {
  /** Returns one answer per account, in order. Rejects if it cannot be determined now. */
  exist(accounts: readonly AccountId[]): Promise<readonly boolean[]>;
  /** Removes a deleted account from the cache. */
  forget(key: string): void;
}

/** The status and name of an account from `account.events`, with their version. */
export interface AccountStatusAt {
  readonly account: AccountId;
  readonly version: number;
  readonly status: string;
  readonly accountName: string;
}

/** Stored snapshots, the aggregation states, and the deleted accounts. */
export interface SnapshotStore {
  /** Returns the stored states by account key; accounts without a snapshot are missing. */
  states(accounts: readonly AccountId[]): Promise<ReadonlyMap<string, AggregatorState>>;
  /**
   * Stores minutes in several transactions: every state, and the snapshots measured within `kept`.
   * Idempotent; skips deleted accounts.
   */
  write(minutes: readonly ClosedMinute[], kept: { readonly firstMs: number; readonly beforeMs: number }): Promise<void>;
  /** Creates the partitions of the days from `firstMs` to `lastMs` (starts of days, UTC). */
  createDays(firstMs: number, lastMs: number): Promise<void>;
  /** Drops the partitions of older days; returns how many. */
  dropDaysBefore(firstKeptMs: number): Promise<number>;
  /** Stores statuses, at most one per account. The highest version of an account wins. */
  upsertStatuses(statuses: readonly AccountStatusAt[]): Promise<void>;
  /** Deletes all rows of an account, and records the deletion. Idempotent. */
  deleteAccount(account: AccountId): Promise<void>;
  /** All deleted accounts, with the time of their deletion. */
  deleted(): AsyncIterable<readonly (AccountId & { readonly deletedAtMs: number })[]>;
}

/** A query of snapshots: `sinceMs` inclusive, `untilMs` exclusive. */
export interface SnapshotQuery {
  readonly organizationId: string;
  readonly serverId: string;
  readonly accountNumber: string | null;
  readonly sinceMs: number;
  readonly untilMs: number | null;
  readonly limit: number;
}

export interface SnapshotLists {
  /** Newest first; snapshots of one minute are ordered by account number. */
  list(query: SnapshotQuery): Promise<AccountMetricSnapshot[]>;
}

/** A query of the equity of an account: `fromMs` inclusive, `toMs` exclusive. */
export interface EquityHistoryQuery extends AccountId {
  readonly fromMs: number;
  readonly toMs: number;
  /** Length of the parts that become one point each: whole minutes. */
  readonly pointMs: number;
  /** Older snapshots are past their retention. */
  readonly firstKeptMs: number;
}

export interface EquityHistories {
  read(query: EquityHistoryQuery): Promise<Pick<EquityHistory, "before" | "points">>;
}

/** Publishes the deletion of an account to every metrics process, through `metrics.samples`. */
export interface DeletionSink {
  /** Resolves with the offset after the record. */
  publish(key: string): Promise<{ readonly partition: number; readonly end: bigint }>;
}

/** A query of accounts of one server, sorted by a value of the last stored minute. */
export interface RankQuery {
  readonly serverId: string;
  readonly sort: AccountOrder;
  readonly filters: AccountFilters;
  /** The last account before the page, with its value then; null: from the first one. */
  readonly after: { readonly value: string | null; readonly accountNumber: string } | null;
  readonly limit: number;
}

export interface RankedAccount {
  readonly accountNumber: string;
  readonly value: string | null;
  readonly stored: StoredAccountValues | null;
}

/** The equity of all accounts of a server, in units of its currency. */
export interface EquitySummary {
  readonly accounts: number;
  readonly equity: number;
  readonly dayStartEquity: number;
  readonly measuredAt: string | null;
}

/** The accounts of servers by their stored values. */
export interface AccountRanks {
  /** Accounts without the value of the sort come last. Equal values are in order of numbers. */
  rank(query: RankQuery): Promise<RankedAccount[]>;
  /** Number of matches. */
  count(serverId: string, filters: AccountFilters): Promise<number>;
  /** In order; null for an account without a stored minute. */
  values(serverId: string, accountNumbers: readonly string[]): Promise<(StoredAccountValues | null)[]>;
  /** In order. */
  summaries(serverIds: readonly string[]): Promise<EquitySummary[]>;
}

/** The name and the creation time of an account; null: the account service does not have it. */
export type AccountDescription = { readonly accountName: string; readonly createdAt: string } | null;

/** The accounts whose creation time is not known yet. */
export interface AccountDescriptions {
  missing(limit: number): Promise<AccountId[]>;
  store(accounts: readonly AccountId[], descriptions: readonly AccountDescription[]): Promise<void>;
}
