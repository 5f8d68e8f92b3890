/**
 * The partitions of `trading.valuations` that this process owns, each with a `PartitionEvaluator`.
 *
 * Invariant: a `PartitionEvaluator` and the consumer begin at the checkpoint. Both begin again
 * after each assignment, and after the topic was recreated. So a `PartitionEvaluator` lives for one
 * assignment and one topic. A partition that another process has taken meanwhile is not acquired
 * again before the next assignment: the consumer has read beyond the checkpoint, and the valuations
 * between would never be compared. A process that was paused, and that the group has removed
 * meanwhile, does not take a partition from the new owner: the generation of the paused process is
 * lower.
 */
import type { AccountRef } from "@kapi/contracts";
import { retryable, RetryableError } from "@kapi/kafka";
import { isTransient } from "@kapi/postgres";
import type { Logger } from "@kapi/runtime";

import { NotOwner } from "../domain/ports.ts";
import { type PartitionDependencies, PartitionEvaluator, type ValuationMessage } from "./partition-evaluator.ts";

/** Maximum number of versions of one partition in a round of activations. */
const MAX_ACTIVATIONS = 100;
/**
 * How long this process waits for the assignment that follows when another process has taken a
 * partition: longer than a session timeout and a rebalance.
 */
const MAX_LOST_MS = 60_000;
const TOPIC_ID_UNKNOWN = "the id of the topic cannot be read";

interface EvaluatorOptions extends PartitionDependencies {
  /** The id of the topic; rejects while the cluster does not answer. */
  readonly topicId: () => Promise<string>;
  /** The end of a partition's log; 0 if the log has no records. Rejects like `topicId`. */
  readonly endOf: (partition: number) => Promise<number>;
  /**
   * Whether the deletion of an account has begun, or the account never existed. Rejects while the
   * account service does not answer.
   */
  readonly isDeleted: (account: AccountRef) => Promise<boolean>;
  /** The tokens of the partitions, read before this process joins the group. */
  readonly tokens: ReadonlyMap<number, number>;
  readonly logger: Logger;
}

/**
 * One for each process. The consumer calls {@link Evaluator.assign} at each assignment, then
 * {@link Evaluator.addValuations}. Activations and checkpoints can be started at any time, also
 * during these calls. A partition is acquired when it is first used.
 */
export class Evaluator {
  readonly #options: EvaluatorOptions;
  readonly #partitions = new Map<number, Promise<PartitionEvaluator>>();
  /** The topic of each acquired partition, and the offset after the last record that was read. */
  readonly #read = new Map<number, { readonly topicId: string; readonly nextOffset: bigint }>();
  /** Partitions that another process took, and since when. */
  readonly #lost = new Map<number, number>();
  #assigned: ReadonlySet<number> = new Set();
  #generation = 0;

  constructor(options: EvaluatorOptions) {
    this.#options = options;
  }

  /** Number of accounts that have, or had, rules, on the partitions of this process. */
  async accounts(): Promise<number> {
    const owned = await Promise.allSettled(this.#partitions.values());
    return owned.reduce((sum, one) => sum + (one.status === "fulfilled" ? one.value.accounts : 0), 0);
  }

  /** The assigned partitions, without those that another process took. */
  get partitions(): readonly number[] {
    return [...this.#assigned].filter((partition) => !this.#lost.has(partition));
  }

  /**
   * Replaces the partitions of this process. Each one is acquired when it is first used.
   * @param generation the consumer group's generation, to which this assignment belongs.
   */
  assign(partitions: readonly number[], generation: number): void {
    this.#assigned = new Set(partitions);
    this.#generation = generation;
    this.#partitions.clear();
    this.#read.clear();
    this.#lost.clear();
  }

  /**
   * Compares a batch of one partition.
   * @returns `commitOffset`, which returns the offset below which everything is stored.
   * @throws RetryableError while the database or the cluster does not answer, if the partition is
   * not assigned, or if another process has taken it. If no assignment follows within a minute
   * after that, throws another error: the process must restart.
   */
  async addValuations(
    partition: number,
    messages: readonly ValuationMessage[],
  ): Promise<{ commitOffset: () => bigint }> {
    await this.#releaseIfRecreated(partition, messages);
    const evaluator = await this.#owned(partition, "valuations cannot be compared", async (one) => {
      await one.addValuations(messages);
      return one;
    });
    const [read, last] = [this.#read.get(partition), messages.at(-1)];
    if (read !== undefined && last !== undefined) this.#read.set(partition, { ...read, nextOffset: last.offset + 1n });
    return { commitOffset: () => BigInt(evaluator.durableOffset) };
  }

  /**
   * If the topic was recreated, stores the states and releases the partition. The next use acquires
   * the partition with the new topic. The offsets of the new topic begin again: without a new
   * acquisition, its valuations would count as already compared.
   */
  async #releaseIfRecreated(partition: number, [first]: readonly ValuationMessage[]): Promise<void> {
    const read = this.#read.get(partition);
    if (first === undefined || read === undefined || first.offset >= read.nextOffset) return;
    if ((await retryable(TOPIC_ID_UNKNOWN, this.#options.topicId)) === read.topicId) return;
    await this.#owned(partition, "the states of the deleted topic cannot be stored", (one) => one.checkpoint());
    this.#partitions.delete(partition);
  }

  /**
   * Activates the versions of rules that wait on the partitions of this process. A version of a
   * deleted account is discarded: perhaps it was stored after the deletion had deleted the rules.
   * After an error the other partitions go on; then throws the first error.
   */
  async activateWaiting(): Promise<void> {
    const { partitions } = this;
    if (partitions.length === 0) return;
    const waiting = await this.#options.store.waiting(partitions, MAX_ACTIVATIONS);
    await forEach(
      Map.groupBy(waiting, ({ partition }) => partition),
      async ([partition, versions]) => {
        for (const version of versions) {
          if (!this.partitions.includes(partition)) return;
          // Asked after the version was stored: a later deletion finds the version and deletes it.
          const isDeleted = await this.#options.isDeleted(version);
          await this.#owned(partition, "rules cannot be activated", (one) =>
            isDeleted ? one.discard(version) : one.activate(version),
          );
        }
      },
    );
  }

  /**
   * Stores position and states of every partition, one partition after another. All partitions at
   * once would slow down the storing of breaches in the same database.
   */
  async checkpoint(): Promise<void> {
    await forEach([...this.#partitions.keys()], (partition) =>
      this.#owned(partition, "a checkpoint cannot be stored", (one) => one.checkpoint()),
    );
  }

  async #owned<T>(partition: number, what: string, work: (one: PartitionEvaluator) => Promise<T>): Promise<T> {
    if (!this.#assigned.has(partition)) throw new RetryableError(`partition ${partition} is not assigned`);
    this.#throwIfLost(partition);
    const acquiring = this.#partitions.get(partition) ?? this.#acquire(partition);
    this.#partitions.set(partition, acquiring);
    try {
      return await work(await acquiring);
    } catch (error) {
      const isCurrent = this.#partitions.get(partition) === acquiring;
      if (isCurrent && error instanceof NotOwner) this.#lost.set(partition, this.#options.clock.nowMs());
      if (isCurrent && (error instanceof NotOwner || !(await isAcquired(acquiring))))
        this.#partitions.delete(partition);
      if (error instanceof NotOwner || error instanceof RetryableError || isTransient(error)) {
        throw new RetryableError(what, { cause: error });
      }
      throw error;
    }
  }

  #throwIfLost(partition: number): void {
    const sinceMs = this.#lost.get(partition);
    if (sinceMs === undefined) return;
    const what = `another process owns partition ${partition}`;
    if (this.#options.clock.nowMs() - sinceMs > MAX_LOST_MS) throw new Error(`${what}, and no assignment followed`);
    throw new RetryableError(what);
  }

  async #acquire(partition: number): Promise<PartitionEvaluator> {
    const membership = { generation: this.#generation, tokens: this.#options.tokens };
    const topicId = await retryable(TOPIC_ID_UNKNOWN, this.#options.topicId);
    const start = await this.#options.store.acquire(partition, topicId, membership);
    this.#read.set(partition, { topicId, nextOffset: BigInt(start.nextOffset) });
    const end = await retryable("the end of the topic cannot be read", () => this.#options.endOf(partition));
    this.#options.logger.info(
      { partition, token: start.token, from: start.nextOffset },
      "acquired a partition of trading.valuations",
    );
    return new PartitionEvaluator(partition, { ...start, end }, this.#options);
  }
}

/** Works on one after another, also after an error; then throws the first error. */
async function forEach<T>(all: Iterable<T>, work: (one: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const one of all) await work(one).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

async function isAcquired(acquiring: Promise<unknown>): Promise<boolean> {
  try {
    await acquiring;
    return true;
  } catch {
    return false;
  }
}
