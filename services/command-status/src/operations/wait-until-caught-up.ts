import { delay } from "@kapi/kernel";

import type { CommandRepository, TopicIdRepository, LogEndOffsets, LogPosition } from "../domain/ports.ts";
import { assertSameTopics } from "./check-topics.ts";

/** Maximum wait of a caller, for all steps together. */
const CAUGHT_UP_DEADLINE_MS = 10_000;
/** Interval between reads of the positions. */
const POLL_INTERVAL_MS = 50;

interface CatchUpDependencies {
  readonly repository: Pick<CommandRepository, "positions">;
  readonly endOffsets: LogEndOffsets;
  readonly topics: TopicIdRepository;
}

/**
 * Waits until every record that was published before the call is ingested, by any process. Returns
 * false if `deadlineMs` passes first. In a sync of wallets, the organization service waits for this
 * function, then reads all open commands from command-status (architecture, 3.1).
 * @throws Error if a topic was deleted and created again: positions of the deleted topic say
 * nothing about the records of the new one.
 */
export async function waitUntilCaughtUp(
  dependencies: CatchUpDependencies,
  deadlineMs = CAUGHT_UP_DEADLINE_MS,
): Promise<boolean> {
  const ended = new AbortController();
  const late = delay(deadlineMs, ended.signal).then(() => false);
  try {
    return await Promise.race([pollPositions(dependencies, ended.signal), late]);
  } finally {
    ended.abort();
  }
}

/** Returns false once `ended` is aborted. */
async function pollPositions(
  { repository, endOffsets, topics }: CatchUpDependencies,
  ended: AbortSignal,
): Promise<boolean> {
  const published = await endOffsets.current();
  while (!ended.aborted) {
    const positions = await repository.positions();
    if (isCaughtUp(published, positions)) {
      await assertWithinLogs(positions, published, endOffsets);
      await assertSameTopics(topics, endOffsets);
      return true;
    }
    await delay(POLL_INTERVAL_MS, ended);
  }
  return false;
}

/**
 * A position beyond the end of its partition belongs to a deleted topic, whose name another topic
 * has now. Positions advance during the check, so a position beyond the `published` end offsets is
 * compared with the current end offsets.
 */
async function assertWithinLogs(
  positions: readonly LogPosition[],
  published: readonly LogPosition[],
  endOffsets: Pick<LogEndOffsets, "current">,
): Promise<void> {
  if (findBeyondEnd(positions, published) === undefined) return;
  const at = findBeyondEnd(positions, await endOffsets.current());
  if (at === undefined) return;
  throw new Error(
    `position ${at.nextOffset} of partition ${at.partition} is beyond the end of ${at.topic}: the topic was deleted and created again ` +
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

/** Whether `positions` have reached every end offset of `published`. */
export function isCaughtUp(published: readonly LogPosition[], positions: readonly LogPosition[]): boolean {
  const reached = new Map(positions.map((at) => [`${at.topic}/${at.partition}`, at.nextOffset]));
  return published.every((end) => (reached.get(`${end.topic}/${end.partition}`) ?? 0n) >= end.nextOffset);
}
