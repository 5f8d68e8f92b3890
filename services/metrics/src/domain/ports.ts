import type { AccountMetricSnapshot } from "@kapi/contracts";

import type { BookState, ClosedMinute } from "./account-book.ts";
import type { AccountId } from "./sample.ts";
import type { Span } from "./judge.ts";

/** Writes samples to the log, and knows where the log ends. */
export interface SampleSink {
  /** Resolves when the sample is in the log; rejects where that is not known. */
  write(partition: number, key: string, span: Span, frame: Buffer): Promise<void>;
  /** The offset after the last sample of a partition. */
  endOf(partition: number): Promise<bigint>;
}

/** How far this process itself has read the samples. */
export interface SampleProgress {
  /**
   * Resolves when every sample of `partition` before `end` has been judged here; rejects after
   * `timeoutMs`.
   */
  reached(partition: number, end: bigint, timeoutMs: number): Promise<void>;
}

/** Keeps checkpoints: per key the last value counts. */
export interface CheckpointSink {
  write(partition: number, key: string, value: string): Promise<void>;
}

/** Where some of the rejected valuations are kept for people to look at. */
export interface RejectedValuationSink {
  write(
    partition: number,
    record: { readonly key: string; readonly value: Buffer | null; readonly offset: bigint },
    reason: string,
  ): Promise<void>;
}

/** A topic of some name: the how-manieth it is, from 0, and how long it has been known. */
export interface TopicGeneration {
  readonly generation: number;
  readonly ageMs: number;
}

/** The generations of topics. */
export interface TopicGenerationStore {
  /** The generation of the topic with this id; the next one if it was never seen. */
  register(topic: string, topicId: string): Promise<TopicGeneration>;
}

/** Whether accounts exist. */
export interface AccountExistence {
  /** One answer per account, in order. Rejects when it cannot be told now. */
  exist(accounts: readonly AccountId[]): Promise<readonly boolean[]>;
  /** An account was deleted: that it existed is not remembered any more. */
  forget(key: string): void;
}

/** What `account.events` says of an account's status, as of a version of it. */
export interface AccountStatusAt {
  readonly account: AccountId;
  readonly version: number;
  readonly status: string;
}

/** Stored snapshots, the states they are reckoned from, and which accounts are gone for good. */
export interface SnapshotStore {
  /** What is stored of these accounts, by key; those without a snapshot are not in it. */
  states(accounts: readonly AccountId[]): Promise<ReadonlyMap<string, BookState>>;
  /**
   * Stores the states, in parts, and the snapshots measured within `kept` with them. Repeating it
   * changes nothing; deleted accounts are left out.
   */
  write(minutes: readonly ClosedMinute[], kept: { readonly firstMs: number; readonly beforeMs: number }): Promise<void>;
  /** Makes room for the days from `firstMs` to `lastMs` (beginnings of days, UTC). */
  keepDays(firstMs: number, lastMs: number): Promise<void>;
  /** Drops whole days; returns how many. */
  dropDaysBefore(firstKeptMs: number): Promise<number>;
  /** Of each account the highest version counts; one per account at most. */
  takeStatuses(statuses: readonly AccountStatusAt[]): Promise<void>;
  /** Deletes all that is stored of an account, and remembers that it is gone. Repeatable. */
  forget(account: AccountId): Promise<void>;
  /** Every account that is gone, and since when. */
  deleted(): AsyncIterable<readonly (AccountId & { readonly deletedAtMs: number })[]>;
}

/** Which snapshots are asked for: `sinceMs` inclusive, `untilMs` exclusive. */
export interface SnapshotQuery {
  readonly organizationId: string;
  readonly serverId: string;
  readonly accountNumber: string | null;
  readonly sinceMs: number;
  readonly untilMs: number | null;
  readonly limit: number;
}

export interface SnapshotLists {
  /** Newest first, those of one minute by account number. */
  list(query: SnapshotQuery): Promise<AccountMetricSnapshot[]>;
}

/** Tells every metrics process, through the log of samples, that an account is gone. */
export interface DeletionSink {
  /** Resolves with the place behind the record. */
  tell(key: string): Promise<{ readonly partition: number; readonly end: bigint }>;
}
