import { type Tag, type UsageEntry, deleteUsage, readUsage, usageBacklog } from "@kapi/redis";

import type { Leg } from "../domain/leg.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { endsOfKnown, settleInRedis } from "./settle-in-redis.ts";

/** Most entries of one tag, and of all tags together, in one transaction. */
export const MAX_ENTRIES_PER_TAG = 1_000;
const MAX_ENTRIES_PER_BATCH = 5_000;

/**
 * Moves one batch of the usage streams of `tags` into the ledger; returns how many entries it moved, 0 when the streams are
 * empty. Entries are deleted once they are committed; one that is read twice is the same leg.
 */
export async function recordUsage(context: LedgerContext, tags: readonly Tag[]): Promise<number> {
  const { store, redis, clock, logger } = context;
  const waiting = await tagsWithUsage(context, tags);
  if (waiting.length === 0) return 0;
  const { entries, ended } = await store.transaction(async (tx) => {
    const epochs = await tx.shareTagLocks(waiting);
    const found = await readUsage(redis, waiting, MAX_ENTRIES_PER_TAG);
    const legs = [...found.values()].flat().map(legFromEntry);
    const recorded = await tx.recordLegs(epochs, legs, clock.nowMs());
    if (recorded.length < legs.length) {
      logger.error(
        { told: legs.length, recorded: recorded.length },
        "usage of organizations without a wallet, or told twice",
      );
    }
    return { entries: found, ended: await endsOfKnown(tx, legs, recorded) };
  });
  await settleInRedis(context, ended);
  await Promise.all([...entries].map(([tag, ofTag]) => deleteUsage(redis, tag, ofTag)));
  return [...entries.values()].reduce((total, ofTag) => total + ofTag.length, 0);
}

/** Moves everything that the streams hold; for closed tags, whose streams do not grow. */
export async function recordAllUsage(context: LedgerContext, tags: readonly Tag[]): Promise<void> {
  while ((await recordUsage(context, tags)) > 0);
}

async function tagsWithUsage(context: LedgerContext, tags: readonly Tag[]): Promise<Tag[]> {
  const backlog = await usageBacklog(context.redis, tags);
  const chosen: Tag[] = [];
  let entries = 0;
  // The fullest first, so that no stream waits for ever behind the others.
  const byBacklog = tags
    .map((tag, index) => ({ tag, waiting: backlog[index] ?? 0 }))
    .sort((a, b) => b.waiting - a.waiting);
  for (const { tag, waiting } of byBacklog) {
    if (waiting === 0 || entries >= MAX_ENTRIES_PER_BATCH) break;
    chosen.push(tag);
    entries += Math.min(waiting, MAX_ENTRIES_PER_TAG);
  }
  return chosen;
}

/** The leg that an entry tells of. */
export function legFromEntry(entry: UsageEntry): Leg {
  return {
    chargeId: entry.chargeId,
    kind: entry.leg,
    organizationId: entry.organizationId,
    credits: entry.credits,
    action: null,
    operation: entry.operation,
    requestId: entry.requestId,
    commandId: entry.commandId,
    atMs: entry.atMs,
  };
}
