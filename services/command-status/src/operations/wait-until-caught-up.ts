import { type Clock, delay } from "@kapi/kernel";

import type { CommandStore, KnownTopics, LogEnds, LogPosition } from "../domain/ports.ts";
import { assertSameTopics } from "./check-topics.ts";

/** How long a caller is kept waiting, and how often the positions are looked at meanwhile. */
const CAUGHT_UP_DEADLINE_MS = 10_000;
const POLL_INTERVAL_MS = 50;

/**
 * True as soon as everything that was published before the call has been taken in, by whichever
 * process; false where it is not within ten seconds. Wallets are set up again from what is open
 * here, so nothing may be missing (architecture, 3.1). Throws where a topic was deleted and made
 * again: what it holds cannot be told from what the deleted one held.
 */
export async function waitUntilCaughtUp(
  {
    store,
    ends,
    topics,
    clock,
  }: {
    readonly store: Pick<CommandStore, "positions">;
    readonly ends: LogEnds;
    readonly topics: KnownTopics;
    readonly clock: Clock;
  },
  deadlineMs = CAUGHT_UP_DEADLINE_MS,
): Promise<boolean> {
  const expiresAtMs = clock.nowMs() + deadlineMs;
  const published = await inTime(() => ends.current(), deadlineMs);
  if (published === null) return false;
  for (;;) {
    const positions = await store.positions();
    if (isCaughtUp(published, positions)) {
      await assertWithinEnds(positions, published, () => inTime(() => ends.current(), deadlineMs));
      const same = assertSameTopics(topics, ends).then(() => true);
      return (await inTime(() => same, deadlineMs)) ?? false;
    }
    if (clock.nowMs() + POLL_INTERVAL_MS > expiresAtMs) return false;
    await delay(POLL_INTERVAL_MS);
  }
}

/**
 * A position beyond the end of its partition belongs to a topic that was deleted: its name is
 * another topic's by now, of which nothing is known here. Positions move on meanwhile, so those
 * that seem to be beyond are held against the ends of now.
 */
async function assertWithinEnds(
  positions: readonly LogPosition[],
  published: readonly LogPosition[],
  endsOfNow: () => Promise<readonly LogPosition[] | null>,
): Promise<void> {
  if (beyond(positions, published) === undefined) return;
  const at = beyond(positions, (await endsOfNow()) ?? published);
  if (at === undefined) return;
  throw new Error(
    `position ${at.nextOffset} of partition ${at.partition} is beyond the end of ${at.topic}: the topic was deleted and made again ` +
      `(docs/operate.md, "A topic was deleted")`,
  );
}

/**
 * A position that is beyond the end of its partition; one whose partition holds no record has no
 * end.
 */
function beyond(positions: readonly LogPosition[], published: readonly LogPosition[]): LogPosition | undefined {
  const ends = new Map(published.map((end) => [`${end.topic}/${end.partition}`, end.nextOffset]));
  return positions.find((at) => at.nextOffset > (ends.get(`${at.topic}/${at.partition}`) ?? at.nextOffset));
}

/** Null where the answer does not come within `deadlineMs`. */
async function inTime<T>(ask: () => Promise<T>, deadlineMs: number): Promise<T | null> {
  const told = new AbortController();
  try {
    return await Promise.race([ask(), delay(deadlineMs, told.signal).then(() => null)]);
  } finally {
    told.abort();
  }
}

/** Whether every place of `published` has been reached by `positions`. */
export function isCaughtUp(published: readonly LogPosition[], positions: readonly LogPosition[]): boolean {
  const reached = new Map(positions.map((at) => [`${at.topic}/${at.partition}`, at.nextOffset]));
  return published.every((end) => (reached.get(`${end.topic}/${end.partition}`) ?? 0n) >= end.nextOffset);
}
