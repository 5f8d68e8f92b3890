import { type Deferred, deferred } from "@kapi/kernel";

interface Waiter {
  readonly ends: ReadonlyMap<number, bigint>;
  readonly answer: Deferred<void>;
}

/** Callers that wait until a reader has handled all records before given ends of partitions. */
export class EndWaiters {
  readonly #topic: string;
  readonly #positionOf: (partition: number) => bigint;
  readonly #stopped: AbortSignal;
  readonly #waiters = new Set<Waiter>();

  /**
   * @param positionOf the offset of a partition before which all records have been handled.
   * @param stopped aborted when the reader stops, with the reason: then all callers are rejected.
   */
  constructor(topic: string, positionOf: (partition: number) => bigint, stopped: AbortSignal) {
    this.#topic = topic;
    this.#positionOf = positionOf;
    this.#stopped = stopped;
    stopped.addEventListener("abort", () => this.answer());
  }

  get isEmpty(): boolean {
    return this.#waiters.size === 0;
  }

  /**
   * Resolves when all records before `ends` have been handled; rejects if one of the partitions is
   * removed, or the reader stops.
   */
  add(ends: ReadonlyMap<number, bigint>, answer = deferred<void>()): Promise<void> {
    this.#waiters.add({ ends, answer });
    this.answer();
    return answer.promise;
  }

  /** Like `add`, but rejects after `timeoutMs`. */
  addFor(ends: ReadonlyMap<number, bigint>, timeoutMs: number): Promise<void> {
    const waiter: Waiter = { ends, answer: deferred<void>() };
    const timer = setTimeout(() => {
      this.#reject(waiter, `${this.#topic} was not read to the wanted end within ${timeoutMs} ms`);
    }, timeoutMs);
    this.#waiters.add(waiter);
    this.answer();
    return waiter.answer.promise.finally(() => clearTimeout(timer));
  }

  /** Answers the callers whose ends have been reached; after the stop, all callers. */
  answer(): void {
    for (const waiter of this.#waiters) {
      let reached = true;
      for (const [partition, end] of waiter.ends) reached &&= this.#positionOf(partition) >= end;
      if (!reached && !this.#stopped.aborted) continue;
      this.#waiters.delete(waiter);
      if (reached) waiter.answer.resolve();
      else waiter.answer.reject(this.#stopped.reason);
    }
  }

  /** Rejects the callers that wait for a partition: it is no longer read. */
  remove(partition: number): void {
    for (const waiter of this.#waiters) {
      if (waiter.ends.has(partition))
        this.#reject(waiter, `partition ${partition} of ${this.#topic} is no longer read`);
    }
  }

  #reject(waiter: Waiter, reason: string): void {
    this.#waiters.delete(waiter);
    waiter.answer.reject(new Error(reason));
  }
}
