import type { TopicContract } from "@kapi/contracts";
import { type Deferred, deferred } from "@kapi/kernel";

/** The partitions of one topic that this process has. */
export interface PartitionAssignment {
  readonly topic: TopicContract;
  readonly partitions: readonly number[];
}

/** One batch on its way through its generation. */
export interface Run {
  /** Resolves when the generation's assignment has been taken in. */
  readonly ready: Promise<void>;
  /** Whether the group is still in the generation this batch belongs to. */
  isCurrent(): boolean;
  leave(): void;
}

/** The patched kafkajs names the membership in the event of a join, and on each batch that it fetched under it. */
export function membershipOf(named: object): string {
  const { memberId, generationId } = named as { memberId?: string; generationId?: number };
  return `${memberId}/${generationId}`;
}

/**
 * Keeps the generations of a consumer group apart inside one process: the batches of a generation end before the next
 * assignment is announced, and none of the next begins until the announcement has been taken in.
 *
 * The patched kafkajs names on each batch the membership (member id and generation) that fetched it. A batch of an
 * earlier membership is dropped: its messages are fetched again from the committed offset.
 */
export class Generations {
  readonly #announce: (assignment: readonly PartitionAssignment[]) => Promise<void>;
  #current = 0;
  /** Member id and generation of the last join. */
  #membership: string | null = null;
  #running = 0;
  #drained: Deferred<void> | null = null;
  #announced: Promise<void> = Promise.resolve();
  #joining: Deferred<void> | null = deferred<void>();
  #stopped = false;

  constructor(announce: (assignment: readonly PartitionAssignment[]) => Promise<void>) {
    this.#announce = announce;
  }

  /** Whether a join is under way, or none has ended yet. */
  get isJoining(): boolean {
    return this.#joining !== null;
  }

  joinStarted(): void {
    this.#joining ??= deferred<void>();
  }

  /** Resolves when no join is under way. */
  joined(): Promise<void> {
    return this.#joining?.promise ?? Promise.resolve();
  }

  /** Resolves when no batch is running. */
  async drained(): Promise<void> {
    if (this.#running === 0) return;
    this.#drained ??= deferred<void>();
    await this.#drained.promise;
  }

  /**
   * A new generation, fetched under `membership`: announces `assignment` once the running batches have ended. Rejects as
   * the announcement does.
   */
  joinEnded(membership: string, assignment: readonly PartitionAssignment[]): Promise<void> {
    this.#current += 1;
    this.#membership = membership;
    this.#joining?.resolve();
    this.#joining = null;
    const generation = this.#current;
    const before = this.#announced.catch(() => undefined);
    this.#announced = before.then(async () => {
      await this.drained();
      if (generation === this.#current && !this.#stopped) await this.#announce(assignment);
    });
    return this.#announced;
  }

  /** Lets a batch in; null if it was fetched under another membership than the current one, or all is over. */
  enter(membership: string): Run | null {
    if (this.#stopped || membership !== this.#membership) return null;
    const generation = this.#current;
    let entered = false;
    const isCurrent = (): boolean => generation === this.#current && !this.#stopped;
    // Waiting for the announcement is not running: the announcement itself waits for what runs.
    const ready = this.#announced.then(
      () => {
        if (!isCurrent()) return;
        entered = true;
        this.#running += 1;
      },
      () => undefined,
    );
    return {
      ready,
      // An announcement that failed lets nothing in.
      isCurrent: () => entered && isCurrent(),
      leave: () => {
        if (!entered) return;
        this.#running -= 1;
        if (this.#running > 0) return;
        this.#drained?.resolve();
        this.#drained = null;
      },
    };
  }

  /** No batch comes in any more, and nothing is announced. */
  stop(): void {
    this.#stopped = true;
  }
}
