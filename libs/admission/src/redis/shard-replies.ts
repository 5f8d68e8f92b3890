import type { Shard } from "./keys.ts";

/**
 * The results of one call per shard. If the node of a shard is down, only the call of that shard
 * fails.
 */
export interface ShardReplies<T> {
  /** By shard; the shards whose call failed are left out. */
  readonly replies: ReadonlyMap<Shard, T>;
  /** Shards whose call failed. It is unknown whether the call was executed. */
  readonly unreachable: readonly Shard[];
  /** The error of the call that failed last; undefined if no call failed. */
  readonly error: unknown;
}

/** Makes one call per shard, all concurrently. Never rejects. */
export async function callPerShard<T>(
  shards: Iterable<Shard>,
  call: (shard: Shard) => Promise<T>,
): Promise<ShardReplies<T>> {
  const replies = new Map<Shard, T>();
  const unreachable: Shard[] = [];
  let failure: unknown;
  await Promise.all(
    Array.from(shards, async (shard) => {
      try {
        replies.set(shard, await call(shard));
      } catch (error) {
        unreachable.push(shard);
        failure = error;
      }
    }),
  );
  return { replies, unreachable, error: failure };
}
