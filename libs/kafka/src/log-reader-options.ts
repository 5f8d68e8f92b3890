import type { TopicContract } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { Message } from "./message.ts";

/** A reader's topic, its handler, and where it begins. */
export interface LogReaderOptions {
  readonly topic: TopicContract;
  /**
   * The first offset to read, by partition; other partitions are read from their beginning. An
   * offset beyond the end of the log fails with {@link PositionBeyondEnd}: `startLogReader`
   * rejects, or a running reader calls `fatal`. "nothing": the reader starts without partitions.
   */
  readonly from: "beginning" | "nothing" | ReadonlyMap<number, bigint>;
  /** Gets the records of one partition, in order; one call at a time for each partition. */
  readonly onBatch: (partition: number, messages: readonly Message[]) => void | Promise<void>;
  readonly logger: Logger;
  /**
   * Called at most once, if `onBatch` throws or a position is beyond the end of the log. The reader
   * has stopped, and the process should stop. Not called after `stop()`.
   */
  readonly fatal: (error: Error) => void;
  /**
   * Minimum milliseconds from the start of a fetch that returns several records of a partition to
   * the next fetch. Far from the end of the log there is no minimum. Default 3.
   */
  readonly busyIntervalMs?: number;
  /**
   * Maximum time that the broker holds an empty fetch. The broker answers the first fetch of an
   * added partition only after the held fetch. Default 2,000.
   */
  readonly idleWaitMs?: number;
  /** Bytes the broker gathers before it answers a fetch. Default 1. */
  readonly minBytes?: number;
  readonly clock?: Clock;
}

/** A running reader without a consumer group; see `startLogReader`. */
export interface LogReader {
  /**
   * Resolves when the records from the first positions to the ends of the partitions have been
   * handled. These are the ends at the start of this reader. Rejects if one of these partitions is
   * removed before, or this reader stops before.
   */
  readonly caughtUp: Promise<void>;
  /**
   * The offset of `partition` before which all records have been handled. Throws for a partition
   * that is not read.
   */
  position(partition: number): bigint;
  /**
   * Adds partitions that this reader does not read yet, and reads them from the given offsets or
   * their beginning. Resolves when the records up to the ends of the partitions at the call have
   * been handled. Rejects if one of the partitions is removed before, or this reader stops before.
   * @throws PositionBeyondEnd for an offset beyond the end of the log; the error of the cluster if
   * the ends of the partitions cannot be read. After these errors, no partition was added.
   */
  add(from: ReadonlyMap<number, bigint | "beginning">): Promise<void>;
  /** Stops reading partitions. Resolves when no record of them is being handled any more. */
  remove(partitions: readonly number[]): Promise<void>;
  /**
   * Resolves when all records before `ends` have been handled; rejects after `timeoutMs`, if a
   * partition is removed, or if this reader stops.
   */
  waitFor(ends: ReadonlyMap<number, bigint>, timeoutMs: number): Promise<void>;
  /** null, or why this reader is unhealthy. */
  check(): string | null;
}
