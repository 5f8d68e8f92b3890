import { assert } from "./assert.ts";
import { type Deferred, deferred } from "./deferred.ts";

/** Options of {@link batcher}. */
export interface BatcherOptions<K, V> {
  /** Loads a batch: returns one value per key, in the order of the keys. */
  readonly load: (keys: readonly K[]) => Promise<readonly V[]>;
  /** Maximum number of keys in one `load`. */
  readonly maxBatchSize: number;
  /** Maximum number of concurrent batches. Further calls wait, and make the next batches larger. */
  readonly maxConcurrentBatches: number;
  /**
   * While a batch is running, calls wait and share the next batch. The next batch starts when no
   * batch is running, when it is full, or this many milliseconds after the start of the latest
   * batch. It always waits while `maxConcurrentBatches` are running. Default 0.
   */
  readonly maxBatchDelayMs?: number;
}

/**
 * Returns a function that loads one key. Calls of one turn of the event loop share one `load` of at
 * most `maxBatchSize` keys. Calls that wait during `maxBatchDelayMs`, or while
 * `maxConcurrentBatches` are running, share a `load` too. A `load` that fails rejects every call of
 * its batch.
 */
export function batcher<K, V>(options: BatcherOptions<K, V>): (key: K) => Promise<V> {
  const waiting: { key: K; answer: Deferred<V> }[] = [];
  let running = 0;
  let scheduled = false;
  let lastStartMs = Number.NEGATIVE_INFINITY;
  let delayTimer: NodeJS.Timeout | null = null;

  const delaysBatch = (): boolean => {
    if (running === 0 || waiting.length >= options.maxBatchSize) return false;
    const leftMs = lastStartMs + (options.maxBatchDelayMs ?? 0) - performance.now();
    if (leftMs <= 0) return false;
    delayTimer ??= setTimeout(() => {
      delayTimer = null;
      schedule();
    }, leftMs);
    return true;
  };
  const schedule = (): void => {
    if (scheduled || waiting.length === 0 || running >= options.maxConcurrentBatches || delaysBatch()) return;
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
    lastStartMs = performance.now();
    if (delayTimer !== null) clearTimeout(delayTimer);
    delayTimer = null;
    try {
      const values = await options.load(batch.map((call) => call.key));
      assert(values.length === batch.length, "load did not return one value per key");
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
