/**
 * Maximum number of entries that each queue may add to a batch of `capacity` entries; at least 1.
 * `waiting` has the number of entries of each queue. Short queues add all their entries. Long
 * queues share the rest, so a long queue delays only itself.
 */
export function fairShare(waiting: readonly number[], capacity: number): number {
  let left = capacity;
  let share = capacity;
  for (const [index, entries] of waiting.toSorted((a, b) => a - b).entries()) {
    share = Math.max(1, Math.floor(left / (waiting.length - index)));
    if (entries > share) return share;
    left -= entries;
  }
  return Math.max(share, ...waiting);
}
