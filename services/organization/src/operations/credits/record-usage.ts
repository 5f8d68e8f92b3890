import { type Shard, deleteUsage, readUsage, usageBacklog } from "@kapi/admission/redis";
import { counter, inBatchSpan } from "@kapi/runtime";

import { fairShare } from "../../domain/credits/fair-share.ts";
import { keyUsesOf } from "./audit-usage.ts";
import { keepAskedRefunds, convertUsage } from "./convert-usage.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { repeatedSettlements, settleInRedis } from "./settle-in-redis.ts";
import { traceUsage } from "./usage-spans.ts";

/** About the maximum number of entries in one transaction. */
const MAX_ENTRIES_PER_BATCH = 5_000;

/** Counted after the commit. */
export const usageRecorded = counter(
  "organization.usage.recorded",
  "Usage entries that were moved from Redis into the ledger",
  "{entry}",
);

export interface RecordedUsage {
  /** Number of entries; 0: all readable streams are empty. */
  readonly moved: number;
  /** Shards that Redis did not answer for: unread, or their entries were not deleted. */
  readonly unreachable: ReadonlySet<Shard>;
}

/**
 * Moves one batch of the usage streams of `shards` into the ledger. Entries are deleted after the
 * commit; an entry that is read twice is the same ledger entry. A shard whose node is down delays
 * the others by at most one call timeout.
 */
export async function recordUsage(context: LedgerContext, shards: readonly Shard[]): Promise<RecordedUsage> {
  const { store, redis, clock, logger } = context;
  const backlog = await usageBacklog(redis, shards);
  const unreachable = new Set(backlog.unreachable);
  const sizes = [...backlog.replies.values()].filter((entries) => entries > 0);
  const waiting = shards.filter((shard) => (backlog.replies.get(shard) ?? 0) > 0);
  if (unreachable.size > 0) {
    logger.warn({ err: backlog.error, shards: backlog.unreachable }, "usage of these shards is not readable now");
  }
  if (waiting.length === 0) return { moved: 0, unreachable };
  const share = fairShare(sizes, MAX_ENTRIES_PER_BATCH);
  const { usage, ended } = await store.transaction(async (tx) => {
    const epochs = await tx.shareShardLocks(waiting);
    const found = await readUsage(redis, waiting, share);
    for (const shard of found.unreachable) unreachable.add(shard);
    const used = [...found.replies.values()].flat();
    const converted = await convertUsage(tx, used);
    const { entries } = converted;
    tx.recordFirstKeyUses(keyUsesOf(used));
    const recorded = await traceUsage(used, (members) =>
      inBatchSpan("record usage", members, () => tx.recordEntries(epochs, entries, clock.nowMs())),
    );
    if (recorded.length < entries.length) {
      logger.error(
        { usage: entries.length, recorded: recorded.length },
        "some usage was not recorded: no wallet, or repeated",
      );
    }
    await keepAskedRefunds(tx, converted, recorded);
    return { usage: found.replies, ended: await repeatedSettlements(tx, entries, recorded) };
  });
  const moved = [...usage.values()].reduce((total, ofShard) => total + ofShard.length, 0);
  usageRecorded.add(moved);
  await settleInRedis(context, ended);
  const deleted = await deleteUsage(redis, usage);
  for (const shard of deleted.unreachable) unreachable.add(shard);
  return { moved, unreachable };
}

/**
 * Moves everything in the streams of unsynced shards, which do not grow. Returns the shards that
 * Redis answered for.
 */
export async function recordAllUsage(context: LedgerContext, shards: readonly Shard[]): Promise<Shard[]> {
  let left = [...shards];
  for (;;) {
    const { moved, unreachable } = await recordUsage(context, left);
    left = left.filter((shard) => !unreachable.has(shard));
    if (moved === 0) return left;
  }
}
