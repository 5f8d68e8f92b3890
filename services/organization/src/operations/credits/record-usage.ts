import { type Shard, deleteUsage, readUsage, usageBacklog } from "@kapi/admission/redis";
import { counter, inBatchSpan } from "@kapi/runtime";

import { fairShare } from "../../domain/credits/fair-share.ts";
import { keyUsesOf } from "./audit-usage.ts";
import { keepAskedRefunds, convertUsage } from "./convert-usage.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { repeatedSettlements, settleInRedis } from "./settle-in-redis.ts";
import { traceUsage } from "./usage-spans.ts";

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
   * Shards that Redis did not answer for; of these nothing is known, or their entries are still
   * there.
   */
  readonly unreachable: ReadonlySet<Shard>;
}

/**
 * Moves one batch of the usage streams of `shards` into the ledger. Entries are deleted once they are
 * committed; one that is read twice is the same entry. A shard whose node is down keeps none of the
 * others waiting for longer than a call may take.
 */
export async function recordUsage(context: LedgerContext, shards: readonly Shard[]): Promise<RecordedUsage> {
  const { store, redis, clock, logger } = context;
  const backlog = await usageBacklog(redis, shards);
  const unreachable = new Set(backlog.unreachable);
  const sizes = [...backlog.replies.values()].filter((entries) => entries > 0);
  const waiting = shards.filter((shard) => (backlog.replies.get(shard) ?? 0) > 0);
  if (unreachable.size > 0) {
    logger.warn({ err: backlog.error, shards: backlog.unreachable }, "usage of these shards waits for Redis");
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
        { converted: entries.length, recorded: recorded.length },
        "usage of organizations without a wallet, or converted twice",
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
 * Moves everything that the streams hold; for closed shards, whose streams do not grow. Returns the
 * shards of which it did: all but those that Redis did not answer for.
 */
export async function recordAllUsage(context: LedgerContext, shards: readonly Shard[]): Promise<Shard[]> {
  let left = [...shards];
  for (;;) {
    const { moved, unreachable } = await recordUsage(context, left);
    left = left.filter((shard) => !unreachable.has(shard));
    if (moved === 0) return left;
  }
}
