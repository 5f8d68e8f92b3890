import type { Tag } from "./keys.ts";

/** What calls to several tags gave. The node of a tag may be down: that concerns its own organizations only. */
export interface ShardReplies<T> {
  /** By tag; the tags whose call failed are left out. */
  readonly replies: ReadonlyMap<Tag, T>;
  /** Tags whose call failed. Whether it was carried out is not known. */
  readonly unreachable: readonly Tag[];
  /** Why one of them failed; undefined where none did. */
  readonly error: unknown;
}

/** Makes one call per tag, all at once. Never rejects. */
export async function callPerTag<T>(tags: Iterable<Tag>, call: (tag: Tag) => Promise<T>): Promise<ShardReplies<T>> {
  const replies = new Map<Tag, T>();
  const unreachable: Tag[] = [];
  let failure: unknown;
  await Promise.all(
    Array.from(tags, async (tag) => {
      try {
        replies.set(tag, await call(tag));
      } catch (error) {
        unreachable.push(tag);
        failure = error;
      }
    }),
  );
  return { replies, unreachable, error: failure };
}
