/**
 * The most that each of several queues may give to a batch of `capacity`, so that those with little
 * give all they have, and those with much share what is left. Queues that fill up fast then hold up
 * nobody but themselves.
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
