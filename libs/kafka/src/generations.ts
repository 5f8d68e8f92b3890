import type { TopicContract } from "@kapi/contracts";
import { type Deferred, deferred } from "@kapi/kernel";

/** The partitions of one topic that this process has. */
export interface PartitionAssignment {
  readonly topic: TopicContract;
  readonly partitions: readonly number[];
  /**
   * The id of the topic; null where it does not exist now, or the consumer does not look
   * (`restartBeyondEnd`).
   */
  readonly topicId: string | null;
}

type Announce = (
  assignment: readonly PartitionAssignment[],
  /** The group's own number of the generation. */
  generation: number,
  isCurrent: () => boolean,
) => Promise<void>;

/** One batch on its way through its generation. */
export interface Run {
  /** Resolves when the generation's assignment has been taken in. */
  readonly ready: Promise<void>;
  /** Whether the group is still in the generation this batch belongs to. */
  isCurrent(): boolean;
  leave(): void;
}

/** As which member, and in which generation of the group, something was done. */
export interface Member {
  readonly memberId: string;
  readonly generationId: number;
}

/**
 * The patched kafkajs names the member in the event of a join, and on each batch that it fetched.
 */
export function memberOf(named: object): Member {
  const { memberId = "", generationId = -1 } = named as Partial<Member>;
  return { memberId, generationId };
}

/**
 * Keeps the generations of a consumer group apart inside one process: the batches of a generation
 * end before the next assignment is announced, and none of the next begins until the announcement
 * has been taken in.
 *
 * The patched kafkajs names on each batch the member and generation that fetched it. A batch of an
 * earlier one is dropped: its messages are fetched again from the committed offset.
 */
export class Generations {
  readonly #announce: Announce;
  #current = 0;
  /** Of the last join. */
  #member: Member | null = null;
  #running = 0;
  #drained: Deferred<void> | null = null;
  #announced: Promise<void> = Promise.resolve();
  #joining: Deferred<void> | null = deferred<void>();
  #stopped = false;

  constructor(announce: Announce) {
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
   * A new generation, fetched as `member`: announces `assignment` once the running batches have
   * ended. Rejects as the announcement does.
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
   * Lets a batch in; null if it was fetched as another member or in another generation, or all is
   * over.
   */
  enter({ memberId, generationId }: Member): Run | null {
    if (this.#stopped || memberId !== this.#member?.memberId || generationId !== this.#member.generationId) return null;
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
