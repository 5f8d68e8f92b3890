import { type Tag, type UsageEntry, deleteUsage, readUsage, usageBacklog } from "@kapi/redis";
import { counter, inBatchSpan } from "@kapi/runtime";

import { fairShare } from "../domain/fair-share.ts";
import type { Leg } from "../domain/leg.ts";
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

/**
 * Moves one batch of the usage streams of `tags` into the ledger; returns how many entries it moved, 0 when the streams are
 * empty. Entries are deleted once they are committed; one that is read twice is the same leg.
 */
export async function recordUsage(context: LedgerContext, tags: readonly Tag[]): Promise<number> {
  const { store, redis, clock, logger } = context;
  const backlog = await usageBacklog(redis, tags);
  const waiting = tags.filter((_, index) => (backlog[index] ?? 0) > 0);
  if (waiting.length === 0) return 0;
  const share = fairShare(
    backlog.filter((entries) => entries > 0),
    MAX_ENTRIES_PER_BATCH,
  );
  const { entries, ended } = await store.transaction(async (tx) => {
    const epochs = await tx.shareTagLocks(waiting);
    const found = await readUsage(redis, waiting, share);
    const used = [...found.values()].flat();
    const legs = used.map(legFromEntry);
    const recorded = await takingUsage(used, (members) =>
      inBatchSpan("record usage", members, () => tx.recordLegs(epochs, legs, clock.nowMs())),
    );
    if (recorded.length < legs.length) {
      logger.error(
        { told: legs.length, recorded: recorded.length },
        "usage of organizations without a wallet, or told twice",
      );
    }
    return { entries: found, ended: await endsOfKnown(tx, legs, recorded) };
  });
  const moved = [...entries.values()].reduce((total, ofTag) => total + ofTag.length, 0);
  usageRecorded.add(moved);
  await settleInRedis(context, ended);
  await Promise.all([...entries].map(([tag, ofTag]) => deleteUsage(redis, tag, ofTag)));
  return moved;
}

/** Moves everything that the streams hold; for closed tags, whose streams do not grow. */
export async function recordAllUsage(context: LedgerContext, tags: readonly Tag[]): Promise<void> {
  while ((await recordUsage(context, tags)) > 0);
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
