import type { TopicContract } from "@kapi/contracts";
import type { Clock, Urgency } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { Batch, BatchOutcome } from "./batch.ts";
import type { PartitionAssignment } from "./generations.ts";

const MAX_HEARTBEAT_INTERVAL_MS = 3_000;

/** A consumer's group and topics, its handler, and its limits. */
export interface ConsumerOptions {
  /** Name of the group, without the topic prefix of the deployment. */
  readonly groupId: string;
  readonly topics: readonly TopicContract[];
  /**
   * Makes the effect of a batch durable. The `commitOffset` of the outcome is committed soon after
   * the promise resolves. After a `RetryableError`, `onBatch` gets the same messages after a pause.
   * Any other error is fatal.
   */
  readonly onBatch: (batch: Batch) => Promise<BatchOutcome>;
  /**
   * Called after every join with this process's partitions of each topic; the list of a topic may
   * be empty. Not called if a newer join has already replaced the assignment. The batches of the
   * earlier generation have ended before the call; batches of the new generation wait until the
   * promise resolves. `generation` is the number of the group's new generation. It rises with every
   * rebalance.
   */
  readonly onAssigned?: (assignment: readonly PartitionAssignment[], generation: number) => Promise<void>;
  /**
   * Called when this consumer stops, after the last batch and before the last commit. The promise
   * resolves when the effects of earlier batches are durable, or cannot become durable soon. The
   * consumer waits at most 2 s.
   */
  readonly beforeLastCommit?: () => Promise<void>;
  /** Maximum number of messages in one `onBatch`. Default 1,000. */
  readonly maxBatchMessages?: number;
  readonly logger: Logger;
  /**
   * Called once when this consumer cannot continue. The process should end; uncommitted messages
   * are then read again.
   */
  readonly fatal: (error: Error) => void;
  /**
   * Maximum number of concurrent `onBatch` calls, each for another partition. Default: the number
   * of partitions, at most 4.
   */
  readonly concurrentPartitions?: number;
  /**
   * Milliseconds for which the broker holds a fetch that finds nothing. It answers at once when a
   * message comes. Default 1,000.
   */
  readonly maxWaitTimeInMs?: number;
  /**
   * Minimum time from the start of a batch to the next fetch. Messages that arrive in this time
   * form one larger batch, which costs the broker, the database and this process far less than many
   * small ones. A message that arrives at an idle consumer is never delayed. Default 5.
   */
  readonly minIntervalMs?: number;
  /**
   * Replaces `minIntervalMs` after a batch of more than four messages. A longer interval delays
   * messages under load, but makes far fewer and larger batches. Default: `minIntervalMs`.
   */
  readonly busyIntervalMs?: number;
  /**
   * A longer minimum interval, used while nobody waits for the effect of messages. The interval
   * ends early when a caller begins to wait (`urgency`).
   */
  readonly unhurried?: { readonly intervalMs: number; readonly urgency: Urgency };
  /** Bytes the broker gathers before it answers a fetch. Default 1. */
  readonly minBytes?: number;
  /** How long a rebalance waits for the members to join. Default 30,000. */
  readonly rebalanceTimeoutMs?: number;
  /** Default: a third of the session timeout, but 3,000 at most. */
  readonly heartbeatIntervalMs?: number;
  /**
   * Whether this consumer continues after a topic was recreated: at the committed offset if the new
   * topic has that many records, else at its beginning. For callers that compare topic ids
   * themselves, or do not need every record. Default: a recreated topic is fatal.
   */
  readonly restartBeyondEnd?: boolean;
  /**
   * Whether the assignment of partitions depends on the process of each member
   * (`process-assigner.ts`): for a process that needs the same partition numbers in several groups.
   * Default: round robin.
   */
  readonly isAssignedByProcess?: boolean;
  readonly clock?: Clock;
}

/** A running member of a consumer group; see `startConsumer`. */
export interface Consumer {
  /** null, or why this consumer is unhealthy; for the liveness probe of the process. */
  check(): string | null;
}

/**
 * Milliseconds between two heartbeats. Kafka advises at most a third of the session timeout, so
 * that one late heartbeat does not end the membership.
 */
export function heartbeatIntervalOf(
  { sessionTimeoutMs }: { readonly sessionTimeoutMs: number },
  { heartbeatIntervalMs }: Pick<ConsumerOptions, "heartbeatIntervalMs">,
): number {
  return heartbeatIntervalMs ?? Math.min(sessionTimeoutMs / 3, MAX_HEARTBEAT_INTERVAL_MS);
}
