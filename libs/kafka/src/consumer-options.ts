import type { TopicContract } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { Batch, BatchOutcome } from "./batch.ts";
import type { PartitionAssignment } from "./generations.ts";

const MAX_HEARTBEAT_INTERVAL_MS = 3_000;
const MIN_INTERVAL_MS = 5;
/**
 * A larger batch of a partition means that messages come in numbers. Were it one, an interval of 40
 * ms would keep itself up at 50 messages a second: what comes meanwhile is the next busy batch, and
 * everybody waits for nothing.
 */
const BUSY_ABOVE_MESSAGES = 4;

export interface ConsumerOptions {
  readonly groupId: string;
  readonly topics: readonly TopicContract[];
  /**
   * Makes the effect of a batch durable; its offset is committed soon after this resolves. A
   * {@link RetryableError} brings the same messages again after a pause; any other error is fatal.
   */
  readonly onBatch: (batch: Batch) => Promise<BatchOutcome>;
  /**
   * Called after every join with the partitions of each topic this process has (none: an empty
   * list). No batch of the new generation comes before it resolves, and none of the earlier one
   * runs any more when it is called. `generation` is the group's own number of it, which rises with
   * every join of anybody.
   */
  readonly onAssigned?: (assignment: readonly PartitionAssignment[], generation: number) => Promise<void>;
  /**
   * Called when this consumer stops, after the last batch and before the last commit: resolves when
   * what earlier batches still had to make durable is so, as far as it can be soon. It is waited
   * for 2 s.
   */
  readonly beforeLastCommit?: () => Promise<void>;
  /** Maximum number of messages in one `onBatch`. Default 1,000. */
  readonly maxBatchMessages?: number;
  readonly logger: Logger;
  /**
   * Called once when this consumer cannot go on; the process should end, and the messages are read
   * again.
   */
  readonly fatal: (error: Error) => void;
  /**
   * `onBatch` calls of different partitions side by side. Default: the number of partitions, at
   * most 4.
   */
  readonly concurrentPartitions?: number;
  /**
   * How long the broker holds a fetch that finds nothing. It answers at once when a message comes.
   * Default 250.
   */
  readonly maxWaitTimeInMs?: number;
  /**
   * Least time from the begin of a batch to the next fetch: what comes meanwhile is one larger
   * batch, which costs broker, database and this process far less than many small ones. A message
   * that finds the consumer at rest is never held back. Default 5.
   */
  readonly minIntervalMs?: number;
  /**
   * The same while messages come in numbers, that is after a batch of more than four: at the price
   * of this delay under load there are far fewer and larger batches. Default: as `minIntervalMs`.
   */
  readonly busyIntervalMs?: number;
  /** Bytes the broker gathers before it answers a fetch. Default 1. */
  readonly minBytes?: number;
  /** How long a rebalance waits for the members to join. Default 30,000. */
  readonly rebalanceTimeoutMs?: number;
  /** Default: a third of the session timeout, but 3,000 at most. */
  readonly heartbeatIntervalMs?: number;
  /**
   * A topic that was made again is read from its beginning, or from what the group committed where
   * it holds as much: for whoever tells it by its id. Default: it is refused.
   */
  readonly restartBeyondEnd?: boolean;
  readonly clock?: Clock;
}

export interface Consumer {
  /** null, or why this consumer is not well; for the liveness of the process. */
  check(): string | null;
}

/**
 * Milliseconds between two heartbeats. Kafka advises at most a third of the session, so that one
 * late heartbeat does not end the membership.
 */
export function heartbeatIntervalOf(
  { sessionTimeoutMs }: { readonly sessionTimeoutMs: number },
  { heartbeatIntervalMs }: Pick<ConsumerOptions, "heartbeatIntervalMs">,
): number {
  return heartbeatIntervalMs ?? Math.min(sessionTimeoutMs / 3, MAX_HEARTBEAT_INTERVAL_MS);
}

/** Least time from the begin of a batch of `count` messages to the next fetch, in milliseconds. */
export function intervalAfter(
  count: number,
  {
    minIntervalMs = MIN_INTERVAL_MS,
    busyIntervalMs = minIntervalMs,
  }: Pick<ConsumerOptions, "minIntervalMs" | "busyIntervalMs">,
): number {
  return count > BUSY_ABOVE_MESSAGES ? busyIntervalMs : minIntervalMs;
}
