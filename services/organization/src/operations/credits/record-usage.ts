import { type Shard, deleteUsage, readUsage, usageBacklog } from "@kapi/admission/redis";
import { counter, inBatchSpan } from "@kapi/runtime";

import { fairShare } from "../../domain/credits/fair-share.ts";
import { keyUsesOf } from "./audit-usage.ts";
import { keepAskedRefunds, usageLegs } from "./usage-legs.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { endsOfKnown, settleInRedis } from "./settle-in-redis.ts";
import { takingUsage } from "./usage-spans.ts";

/** About how many entries are moved in one transaction, at most. */
const MAX_ENTRIES_PER_BATCH = 5_000;

/** Counted after the commit. */
export const usageRecorded = counter(
  "organization.usage.recorded",
  "Usage entries that were moved from Redis into the ledger",
  "{entry}",
);

/** What one batch of {@link recordUsage} did. */
export interface RecordedUsage {
  /** Entries; 0 when the streams that could be read are empty. */
  readonly moved: number;
  /**
   * Tags that Redis did not answer for; of these nothing is known, or their entries are still
   * there.
   */
  readonly unreachable: ReadonlySet<Shard>;
}

/**
 * Moves one batch of the usage streams of `tags` into the ledger. Entries are deleted once they are
 * committed; one that is read twice is the same leg. A tag whose node is down keeps none of the
 * others waiting for longer than a call may take.
 */
export async function recordUsage(context: LedgerContext, tags: readonly Shard[]): Promise<RecordedUsage> {
  const { store, redis, clock, logger } = context;
  const backlog = await usageBacklog(redis, tags);
  const unreachable = new Set(backlog.unreachable);
  const sizes = [...backlog.replies.values()].filter((entries) => entries > 0);
  const waiting = tags.filter((tag) => (backlog.replies.get(tag) ?? 0) > 0);
  if (unreachable.size > 0) {
    logger.warn({ err: backlog.error, tags: backlog.unreachable }, "usage of these tags waits for Redis");
  }
  if (waiting.length === 0) return { moved: 0, unreachable };
  const share = fairShare(sizes, MAX_ENTRIES_PER_BATCH);
  const { entries, ended } = await store.transaction(async (tx) => {
    const epochs = await tx.shareTagLocks(waiting);
    const found = await readUsage(redis, waiting, share);
    for (const tag of found.unreachable) unreachable.add(tag);
    const used = [...found.replies.values()].flat();
    const told = await usageLegs(tx, used);
    const { legs } = told;
    tx.recordFirstKeyUses(keyUsesOf(used));
    const recorded = await takingUsage(used, (members) =>
      inBatchSpan("record usage", members, () => tx.recordLegs(epochs, legs, clock.nowMs())),
    );
    if (recorded.length < legs.length) {
      logger.error(
        { told: legs.length, recorded: recorded.length },
        "usage of organizations without a wallet, or told twice",
      );
    }
    await keepAskedRefunds(tx, told, recorded);
    return { entries: found.replies, ended: await endsOfKnown(tx, legs, recorded) };
  });
  const moved = [...entries.values()].reduce((total, ofTag) => total + ofTag.length, 0);
  usageRecorded.add(moved);
  await settleInRedis(context, ended);
  const deleted = await deleteUsage(redis, entries);
  for (const tag of deleted.unreachable) unreachable.add(tag);
  return { moved, unreachable };
}

/**
 * Moves everything that the streams hold; for closed tags, whose streams do not grow. Returns the
 * tags of which it did: all but those that Redis did not answer for.
 */
export async function recordAllUsage(context: LedgerContext, tags: readonly Shard[]): Promise<Shard[]> {
  let left = [...tags];
  for (;;) {
    const { moved, unreachable } = await recordUsage(context, left);
    left = left.filter((tag) => !unreachable.has(tag));
    if (moved === 0) return left;
  }
}
