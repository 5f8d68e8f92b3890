import type { Shard } from "./keys.ts";

/**
 * What calls to several shards gave. The node of a shard may be down: that concerns its own
 * organizations only.
 */
export interface ShardReplies<T> {
  /** By shard; the shards whose call failed are left out. */
  readonly replies: ReadonlyMap<Shard, T>;
  /** Shards whose call failed. Whether it was carried out is not known. */
  readonly unreachable: readonly Shard[];
  /** Why one of them failed; undefined where none did. */
  readonly error: unknown;
}

/** Makes one call per shard, all at once. Never rejects. */
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
