import type { TopicContract } from "@kapi/contracts";
import { type Deferred, deferred } from "@kapi/kernel";

/** The partitions of one topic that this process has. */
export interface PartitionAssignment {
  readonly topic: TopicContract;
  readonly partitions: readonly number[];
  /**
   * The id of the topic, as last found; null if no join has found the topic, or the consumer does
   * not compare ids (`restartBeyondEnd`).
   */
  readonly topicId: string | null;
}

/** Tells the consumer which partitions the process has in a generation. */
type Announce = (
  assignment: readonly PartitionAssignment[],
  /** The group's number of the generation. */
  generation: number,
  isCurrent: () => boolean,
) => Promise<void>;

/** A batch that may run in the current generation. */
export interface AdmittedBatch {
  /** Resolves when the announcement of the generation's assignment has ended or failed. */
  readonly ready: Promise<void>;
  /**
   * Whether the batch may run. False before `ready`, after a failed announcement, in a later
   * generation and after `stop`.
   */
  isCurrent(): boolean;
  /** Must be called once when the batch has ended. */
  leave(): void;
}

/** A member of a group, and a generation of the group. */
export interface Member {
  readonly memberId: string;
  readonly generationId: number;
}

/** The member that the patched kafkajs names in a `GROUP_JOIN` event, or on a fetched batch. */
export function memberOf(named: object): Member {
  const { memberId = "", generationId = -1 } = named as Partial<Member>;
  return { memberId, generationId };
}

/**
 * Separates the generations of a consumer group inside one process. The batches of a generation end
 * before the next assignment is announced. Batches of the next generation begin after the
 * announcement has resolved.
 *
 * The patched kafkajs names on each batch the member and generation that fetched it. A batch of an
 * earlier generation is dropped: its messages are fetched again from the committed offset.
 */
export class Generations {
  readonly #announce: Announce;
  #current = 0;
  /** The member of the last join. */
  #member: Member | null = null;
  #running = 0;
  #drained: Deferred<void> | null = null;
  #announced: Promise<void> = Promise.resolve();
  #joining: Deferred<void> | null = deferred<void>();
  #stopped = false;

  constructor(announce: Announce) {
    this.#announce = announce;
  }

  /** Whether a join is under way, or no join has ended yet. */
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
   * Begins a generation whose batches `member` fetches. Announces `assignment` when the running
   * batches have ended, unless a newer join has ended or `stop` was called by then. Rejects if the
   * announcement rejects.
   */
  joinEnded(member: Member, assignment: readonly PartitionAssignment[]): Promise<void> {
    this.#current += 1;
    this.#member = member;
    this.#joining?.resolve();
    this.#joining = null;
    const generation = this.#current;
    const before = this.#announced.catch(() => undefined);
    this.#announced = before.then(async () => {
      await this.drained();
      const isCurrent = (): boolean => generation === this.#current && !this.#stopped;
      if (isCurrent()) await this.#announce(assignment, member.generationId, isCurrent);
    });
    return this.#announced;
  }

  /**
   * Admits a batch. Returns null if another member or generation fetched the batch, or after
   * `stop`.
   */
  enter({ memberId, generationId }: Member): AdmittedBatch | null {
    if (this.#stopped || memberId !== this.#member?.memberId || generationId !== this.#member.generationId) return null;
    const generation = this.#current;
    let entered = false;
    const isCurrent = (): boolean => generation === this.#current && !this.#stopped;
    // A batch that waits for the announcement does not count as running: the announcement waits for
    // running batches.
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

  /** Admits no batch and announces no assignment from now on. */
  stop(): void {
    this.#stopped = true;
  }
}
