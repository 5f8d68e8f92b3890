import { type Clock, delay } from "@kapi/kernel";

import type { CommandRepository, TopicIdRepository, LogEndOffsets, LogPosition } from "../domain/ports.ts";
import { assertSameTopics } from "./check-topics.ts";

/** Maximum wait of a caller. */
const CAUGHT_UP_DEADLINE_MS = 10_000;
/** Interval between reads of the positions. */
const POLL_INTERVAL_MS = 50;

/**
 * Waits until every record that was published before the call is ingested, by any process. Returns
 * false if `deadlineMs` passes first. A sync of wallets relies on this function: afterwards it
 * reads all open commands from this service (architecture, 3.1).
 * @throws Error if a topic was deleted and created again: positions of the deleted topic say
 * nothing about the records of the new one.
 */
export async function waitUntilCaughtUp(
  {
    repository,
    endOffsets,
    topics,
    clock,
  }: {
    readonly repository: Pick<CommandRepository, "positions">;
    readonly endOffsets: LogEndOffsets;
    readonly topics: TopicIdRepository;
    readonly clock: Clock;
  },
  deadlineMs = CAUGHT_UP_DEADLINE_MS,
): Promise<boolean> {
  const expiresAtMs = clock.nowMs() + deadlineMs;
  const published = await withinDeadline(() => endOffsets.current(), deadlineMs);
  if (published === null) return false;
  for (;;) {
    const positions = await repository.positions();
    if (isCaughtUp(published, positions)) {
      await assertWithinLogs(positions, published, () => withinDeadline(() => endOffsets.current(), deadlineMs));
      const same = assertSameTopics(topics, endOffsets).then(() => true);
      return (await withinDeadline(() => same, deadlineMs)) ?? false;
    }
    if (clock.nowMs() + POLL_INTERVAL_MS > expiresAtMs) return false;
    await delay(POLL_INTERVAL_MS);
  }
}

/**
 * A position beyond the end of its partition belongs to a deleted topic, whose name another topic
 * has now. Positions advance during the check, so a position beyond the `published` end offsets is
 * compared with the current ones.
 */
async function assertWithinLogs(
  positions: readonly LogPosition[],
  published: readonly LogPosition[],
  readEndOffsets: () => Promise<readonly LogPosition[] | null>,
): Promise<void> {
  if (findBeyondEnd(positions, published) === undefined) return;
  const at = findBeyondEnd(positions, (await readEndOffsets()) ?? published);
  if (at === undefined) return;
  throw new Error(
    `position ${at.nextOffset} of partition ${at.partition} is beyond the end of ${at.topic}: the topic was deleted and made again ` +
      `(docs/operate.md, "A topic was deleted")`,
  );
}

/**
 * Returns a position beyond the end offset of its partition. Partitions without records are not
 * checked.
 */
function findBeyondEnd(positions: readonly LogPosition[], published: readonly LogPosition[]): LogPosition | undefined {
  const ends = new Map(published.map((end) => [`${end.topic}/${end.partition}`, end.nextOffset]));
  return positions.find((at) => at.nextOffset > (ends.get(`${at.topic}/${at.partition}`) ?? at.nextOffset));
}

/** Returns null if `request` does not resolve within `deadlineMs`. */
async function withinDeadline<T>(request: () => Promise<T>, deadlineMs: number): Promise<T | null> {
  const settled = new AbortController();
  try {
    return await Promise.race([request(), delay(deadlineMs, settled.signal).then(() => null)]);
  } finally {
    settled.abort();
  }
}

/** Whether `positions` have reached every end offset of `published`. */
export function isCaughtUp(published: readonly LogPosition[], positions: readonly LogPosition[]): boolean {
  const reached = new Map(positions.map((at) => [`${at.topic}/${at.partition}`, at.nextOffset]));
  return published.every((end) => (reached.get(`${end.topic}/${end.partition}`) ?? 0n) >= end.nextOffset);
}
