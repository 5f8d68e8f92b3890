import { backOffMs, type Clock, type Deferred, deferred, delay } from "@kapi/kernel";
import { type Logger, observed } from "@kapi/runtime";

/**
 * How long a released partition is still read. This has two reasons. In a rolling restart
 * partitions often return soon. If a topic is recreated soon after a takeover, the process that
 * released the partition also writes the partition's last checkpoints, because the new sequencer of
 * the partition may have ended already.
 */
export const RELEASED_KEPT_MS = 30_000;
const BACK_OFF = { firstMs: 200, maxMs: 5_000 };

/** A consumer group that assigns partitions to this process, named after the records it reads. */
export type AssignedGroup = "valuations" | "snapshots";

/** The partitions of `metrics.samples` that this process reads. */
export interface ReadPartitions {
  /** Replaces the partitions that a group has assigned to this process. */
  assign(group: AssignedGroup, partitions: readonly number[]): void;
  /** Whether the partition is read, or will be read once it is restored. */
  isRead(partition: number): boolean;
  /**
   * Resolves when the accounts of the partition are restored. Rejects if they are not restored
   * within `timeoutMs`, or if the partition is dropped first. Rejects at once if `isRead` is false.
   */
  restored(partition: number, timeoutMs: number): Promise<void>;
  /** Resolves when every assigned partition is restored. */
  allRestored(): Promise<void>;
}

/** For a process that always reads the same partitions and restores all of them at its start. */
export function fixedPartitions(partitions: readonly number[]): ReadPartitions {
  const read = new Set(partitions);
  return {
    assign: () => undefined,
    isRead: (partition) => read.has(partition),
    restored: () => Promise.resolve(),
    allRestored: () => Promise.resolve(),
  };
}

/** A partition that is read, or waits to be restored. */
interface Held {
  isRestored: boolean;
  /** Resolves when the partition is restored, or is dropped before that. */
  readonly settled: Deferred<void>;
  /** When the last group released the partition; null while a group assigns it to this process. */
  releasedAtMs: number | null;
}

/**
 * The partitions that the consumer groups have assigned to this process. A newly assigned partition
 * is restored and read to its end. A released partition is dropped after {@link RELEASED_KEPT_MS}.
 */
export class AssignedPartitions implements ReadPartitions {
  readonly #restore: (partitions: readonly number[]) => Promise<void>;
  readonly #drop: (partitions: readonly number[]) => Promise<void>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #assigned = new Map<AssignedGroup, readonly number[]>();
  readonly #held = new Map<number, Held>();
  #isChanging = false;

  constructor(options: {
    /** Restores partitions and reads them to their end. If it rejects, none of them is read. */
    readonly restore: (partitions: readonly number[]) => Promise<void>;
    /** Stops reading partitions and forgets their accounts. */
    readonly drop: (partitions: readonly number[]) => Promise<void>;
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    this.#restore = options.restore;
    this.#drop = options.drop;
    this.#clock = options.clock;
    this.#logger = options.logger;
    observed("metrics.partitions.read", "Partitions whose samples this process reads", "{partition}", () => [
      { value: this.#held.size },
    ]);
  }

  assign(group: AssignedGroup, partitions: readonly number[]): void {
    this.#assigned.set(group, partitions);
    const wanted = new Set([...this.#assigned.values()].flat());
    for (const partition of wanted) {
      const held = this.#held.get(partition);
      if (held === undefined) this.#held.set(partition, waiting());
      else held.releasedAtMs = null;
    }
    for (const [partition, held] of this.#held) if (!wanted.has(partition)) held.releasedAtMs ??= this.#clock.nowMs();
    void this.#change();
  }

  isRead(partition: number): boolean {
    return this.#held.has(partition);
  }

  async restored(partition: number, timeoutMs: number): Promise<void> {
    const held = this.#held.get(partition);
    if (held === undefined) throw new Error(`partition ${partition} is not assigned`);
    if (held.isRestored) return;
    const over = new AbortController();
    await Promise.race([held.settled.promise, delay(timeoutMs, over.signal)]);
    over.abort();
    if (!held.isRestored)
      throw new Error(`partition ${partition} was not restored within ${timeoutMs} ms, or was dropped`);
  }

  async allRestored(): Promise<void> {
    const isMissing = ({ isRestored, releasedAtMs }: Held): boolean => !isRestored && releasedAtMs === null;
    for (;;) {
      const missing = [...this.#held.values()].find(isMissing);
      if (missing === undefined) return;
      await missing.settled.promise;
    }
  }

  /** Drops partitions that were released {@link RELEASED_KEPT_MS} ago; called every few seconds. */
  dropReleased(): void {
    void this.#change();
  }

  /** Restores and drops partitions, one change at a time, until no change is due. */
  async #change(): Promise<void> {
    if (this.#isChanging) return;
    this.#isChanging = true;
    for (let failures = 0; ;) {
      const overdue = this.#overdue();
      for (const [partition, { settled }] of overdue) {
        this.#held.delete(partition);
        settled.resolve();
      }
      if (overdue.length > 0) await this.#drop(overdue.map(([partition]) => partition));
      const waiting = [...this.#held].filter(([, { isRestored }]) => !isRestored);
      if (overdue.length + waiting.length === 0) break;
      failures = (await this.#restoreAll(waiting)) ? 0 : failures + 1;
      if (failures > 0) await delay(backOffMs(failures, Math.random, BACK_OFF));
    }
    this.#isChanging = false;
  }

  /** The partitions to drop now. */
  #overdue(): [partition: number, held: Held][] {
    const beforeMs = this.#clock.nowMs() - RELEASED_KEPT_MS;
    return [...this.#held].filter(
      // A partition that is not restored yet has nothing worth keeping.
      ([, { isRestored, releasedAtMs }]) => releasedAtMs !== null && (!isRestored || releasedAtMs <= beforeMs),
    );
  }

  /** Restores partitions; returns whether that succeeded. */
  async #restoreAll(waiting: readonly (readonly [number, Held])[]): Promise<boolean> {
    if (waiting.length === 0) return true;
    const partitions = waiting.map(([partition]) => partition);
    try {
      await this.#restore(partitions);
    } catch (error) {
      this.#logger.warn({ err: error, partitions }, "partitions could not be restored; trying again");
      return false;
    }
    for (const [, held] of waiting) {
      held.isRestored = true;
      held.settled.resolve();
    }
    return true;
  }
}

function waiting(): Held {
  return { isRestored: false, settled: deferred<void>(), releasedAtMs: null };
}
