import type { SampleRange } from "@kapi/contracts/codec";
import type {
  AccountFilters,
  AccountMetricSnapshot,
  AccountOrder,
  EquityHistory,
  FollowRequest,
  StoredAccountValues,
  WindowsHolding,
  AccountRef,
} from "@kapi/contracts";

import type { AggregatorState, ClosedMinute } from "./minute-aggregator.ts";

/** Writes samples to the log, and knows where the log ends. */
export interface SampleSink {
  /** Resolves when the sample is in the log; rejects if that is unknown. */
  write(partition: number, key: string, range: SampleRange, frame: Buffer): Promise<void>;
  /** Kafka's offset after the last sample of a partition, for {@link SampleProgress}. */
  endOf(partition: number): Promise<bigint>;
}

/**
 * A connection to a windows process. Requests are sent soon, and those of one kind in order. A
 * request to follow may be sent before an earlier request to unfollow.
 */
export interface WindowLink {
  /** The partitions that the process holds. */
  readonly holding: WindowsHolding;
  /** Requests the samples of an account. */
  follow(request: FollowRequest): void;
  /** Ends the samples of the account that was requested with this channel. */
  unfollow(channel: number): void;
}

/** How far this process has read the samples. */
export interface SampleProgress {
  /**
   * Resolves when this process has applied every sample of `partition` before Kafka's offset `end`;
   * rejects after `timeoutMs`.
   */
  reached(partition: number, end: bigint, timeoutMs: number): Promise<void>;
}

/** Writes records of `metrics.latest`; the last value of a key wins. */
export interface CheckpointSink {
  /** Resolves when the record is durable. A value of null is a tombstone. */
  write(partition: number, key: string, value: string | null): Promise<void>;
}

/** Keeps some of the rejected valuations for inspection. */
export interface RejectedValuationSink {
  /** Writes the dead letter of a record; `value` is null if it is no longer known. */
  write(
    partition: number,
    record: { readonly key: string; readonly value: Buffer | null; readonly offset: bigint },
    reason: string,
  ): Promise<void>;
}

/** The generation of a topic. */
export interface TopicGeneration {
  /** How often the topic was recreated. */
  readonly generation: number;
  /** The time since the topic's id was registered. */
  readonly ageMs: number;
}

/** The generations of topics. */
export interface TopicGenerationStore {
  /** Returns the generation of the topic with this id; a new id gets the next number. */
  register(topic: string, topicId: string): Promise<TopicGeneration>;
}

/** Whether accounts exist. */
export interface AccountExistence {
  /** Returns for each account, in order, whether it exists. Rejects if that is unknown now. */
  exist(accounts: readonly AccountRef[]): Promise<readonly boolean[]>;
  /** Removes a deleted account from the cache. */
  forget(key: string): void;
}

/** The status and name of an account from `account.events`, with their version. */
export interface AccountStatusAt {
  readonly account: AccountRef;
  readonly version: number;
  readonly status: string;
  readonly accountName: string;
}

/** Stored snapshots, the aggregation states, and the deleted accounts. */
export interface SnapshotStore {
  /** Returns the stored states by account key; accounts without a snapshot are missing. */
  states(accounts: readonly AccountRef[]): Promise<ReadonlyMap<string, AggregatorState>>;
  /**
   * Stores minutes, in one or more transactions: the newest state of each account, the snapshots,
   * and the hours that ended (`endedHour`). Skips snapshots and hours that begin before
   * `kept.firstMs`, or at or after `kept.beforeMs`. Idempotent; skips deleted accounts.
   */
  write(minutes: readonly ClosedMinute[], kept: { readonly firstMs: number; readonly beforeMs: number }): Promise<void>;
  /** Creates the partitions of the days from `firstMs` to `lastMs` (starts of days, UTC). */
  createDays(firstMs: number, lastMs: number): Promise<void>;
  /** Drops the partitions of earlier days; returns the number of dropped days. */
  dropDaysBefore(firstKeptMs: number): Promise<number>;
  /**
   * Stores statuses; `statuses` has at most one of each account. A stored status is replaced only
   * by one with a higher version.
   */
  upsertStatuses(statuses: readonly AccountStatusAt[]): Promise<void>;
  /** Deletes all rows of an account, and records the deletion. Idempotent. */
  deleteAccount(account: AccountRef): Promise<void>;
  /** All deleted accounts, with the time of their deletion. */
  deleted(): AsyncIterable<readonly (AccountRef & { readonly deletedAtMs: number })[]>;
}

/** A query of snapshots: `sinceMs` inclusive, `untilMs` exclusive. */
export interface SnapshotQuery {
  readonly organizationId: string;
  readonly serverId: string;
  /** Null: all accounts of the server. */
  readonly accountNumber: string | null;
  readonly sinceMs: number;
  /** Null: no end. */
  readonly untilMs: number | null;
  readonly limit: number;
}

/** Lists of stored snapshots. */
export interface SnapshotLists {
  /** Returns the newest first; snapshots of one minute are ordered by account number. */
  list(query: SnapshotQuery): Promise<AccountMetricSnapshot[]>;
}

/** A query of the equity of an account: `fromMs` inclusive, `toMs` exclusive. */
export interface EquityHistoryQuery extends AccountRef {
  readonly fromMs: number;
  readonly toMs: number;
  /**
   * The range is divided into parts of this length: milliseconds, a multiple of a minute. A point
   * describes a part.
   */
  readonly pointMs: number;
  /** Start of the retention: snapshots before it are not read. */
  readonly firstKeptMs: number;
}

/** The equity of accounts over time. */
export interface EquityHistories {
  /**
   * Returns the last equity before the range, or null, and a point for each part of the range with
   * a stored minute, in order of time. Amounts are in units of currency.
   */
  read(query: EquityHistoryQuery): Promise<Pick<EquityHistory, "before" | "points">>;
}

/** Publishes the deletion of an account to every metrics process, through `metrics.samples`. */
export interface DeletionSink {
  /** Resolves with the partition of the durable record, and Kafka's offset after it. */
  publish(key: string): Promise<{ readonly partition: number; readonly end: bigint }>;
}

/** A query of accounts of one server, sorted by a stored value, the number or the creation time. */
export interface RankQuery {
  readonly serverId: string;
  readonly sort: AccountOrder;
  readonly filters: AccountFilters;
  /**
   * The last account of the page before, with the value that it had there; null: the first page.
   */
  readonly after: { readonly value: string | null; readonly accountNumber: string } | null;
  readonly limit: number;
}

/** An account of a sorted list. */
export interface RankedAccount {
  readonly accountNumber: string;
  /** The value by which the list is sorted, as text; null: none. */
  readonly value: string | null;
  /** The values of the last stored minute; null: none is stored. */
  readonly stored: StoredAccountValues | null;
}

/** The equity of a server's accounts at their last stored minutes, in units of its currency. */
export interface EquitySummary {
  /** Number of accounts with a stored minute. */
  readonly accounts: number;
  readonly equity: number;
  /** The equity of these accounts at the start of the day (UTC). */
  readonly dayStartEquity: number;
  /** Start of the newest stored minute; null: none is stored. */
  readonly measuredAt: string | null;
}

/** The accounts of servers, sorted and filtered by their stored values. */
export interface AccountRanks {
  /**
   * Returns a page. Accounts without the value of the sort come last; accounts with equal values
   * are in order of their numbers.
   */
  rank(query: RankQuery): Promise<RankedAccount[]>;
  /** Returns the number of accounts that match the filters. */
  count(serverId: string, filters: AccountFilters): Promise<number>;
  /** Returns the values of each account, in order; null for one without a stored minute. */
  values(serverId: string, accountNumbers: readonly string[]): Promise<(StoredAccountValues | null)[]>;
  /** Returns the summary of each server, in order. */
  summaries(serverIds: readonly string[]): Promise<EquitySummary[]>;
}

/** The name and the creation time of an account; null: the account service does not have it. */
export type AccountDescription = { readonly accountName: string; readonly createdAt: string } | null;

/** The stored names and creation times of accounts. */
export interface AccountDescriptions {
  /** Returns at most `limit` accounts whose creation time is not known yet. */
  missing(limit: number): Promise<AccountRef[]>;
  /**
   * Stores one description for each account, in order; a name that an event has set is kept.
   * {@link missing} no longer returns these accounts, also after a description of null.
   */
  store(accounts: readonly AccountRef[], descriptions: readonly AccountDescription[]): Promise<void>;
}
