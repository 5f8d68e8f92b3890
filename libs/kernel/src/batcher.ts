import { assert } from "./assert.ts";
import { type Deferred, deferred } from "./deferred.ts";

/** What {@link batcher} needs. */
export interface BatcherOptions<K, V> {
  /** Answers a batch: one value per key, in the order of the keys. */
  readonly load: (keys: readonly K[]) => Promise<readonly V[]>;
  /** Most keys handed to one `load`. */
  readonly maxBatchSize: number;
  /** Most batches under way at once; what comes meanwhile waits and makes larger batches. */
  readonly maxConcurrentBatches: number;
  /**
   * Least time from one batch to a further one beside it, in milliseconds: what comes meanwhile
   * shares the next one, which begins at the end of the one under way if that is sooner. A full one
   * does not wait. Default 0.
   */
  readonly patienceMs?: number;
}

/**
 * Returns a function that asks for one key, and gathers the calls of one turn of the event loop
 * (and those that come while `maxConcurrentBatches` are under way, or within the patience) into one
 * `load`. A `load` that fails rejects the calls of its batch.
 */
export function batcher<K, V>(options: BatcherOptions<K, V>): (key: K) => Promise<V> {
  const waiting: { key: K; answer: Deferred<V> }[] = [];
  let running = 0;
  let scheduled = false;
  let begunMs = Number.NEGATIVE_INFINITY;
  let patience: NodeJS.Timeout | null = null;

  const isPatient = (): boolean => {
    if (running === 0 || waiting.length >= options.maxBatchSize) return false;
    const leftMs = begunMs + (options.patienceMs ?? 0) - performance.now();
    if (leftMs <= 0) return false;
    patience ??= setTimeout(() => {
      patience = null;
      schedule();
    }, leftMs);
    return true;
  };
  const schedule = (): void => {
    if (scheduled || waiting.length === 0 || running >= options.maxConcurrentBatches || isPatient()) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      void runOne();
      schedule();
    });
  };
  const runOne = async (): Promise<void> => {
    const batch = waiting.splice(0, options.maxBatchSize);
    running += 1;
    begunMs = performance.now();
    if (patience !== null) clearTimeout(patience);
    patience = null;
    try {
      const values = await options.load(batch.map((call) => call.key));
      assert(values.length === batch.length, "a batch is answered with one value per key");
      for (const [index, call] of batch.entries()) call.answer.resolve(values[index] as V);
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      for (const call of batch) call.answer.reject(reason);
    } finally {
      running -= 1;
      schedule();
    }
  };
  return (key) => {
    const answer = deferred<V>();
    waiting.push({ key, answer });
    schedule();
    return answer.promise;
  };
}
