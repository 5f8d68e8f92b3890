import {
  type SettlementRequest,
  type Shard,
  type UsageEntry,
  deleteUsage,
  readUsage,
  usageBacklog,
} from "@kapi/admission/redis";
import { counter, inBatchSpan, type Traceparent } from "@kapi/runtime";

import { fairShare } from "../../domain/credits/fair-share.ts";
import type { LedgerEntry, RecordedEntry } from "../../domain/credits/ledger-entry.ts";
import type { CreditTransaction } from "../../domain/credits/ports.ts";
import { keyUsesOf } from "./audit-usage.ts";
import { convertUsage } from "./convert-usage.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { pendingChange, repeatedSettlements, settleInRedis } from "./settle-in-redis.ts";
import { traceUsage } from "./usage-spans.ts";

/** About the maximum number of entries in one transaction. */
const MAX_ENTRIES_PER_BATCH = 5_000;

const usageRecorded = counter(
  "organization.usage.recorded",
  "Usage entries that were moved from Redis into the ledger",
  "{entry}",
);

/** What became of one batch of the usage streams. */
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
  const { usage, repeated } = await store.transaction(async (tx) => {
    await tx.shareShardLocks(waiting);
    const found = await readUsage(redis, waiting, share);
    for (const shard of found.unreachable) unreachable.add(shard);
    const used = [...found.replies.values()].flat();
    tx.recordFirstKeyUses(keyUsesOf(used));
    const inSpan: InSpan = (members, record) => inBatchSpan("record usage", members, record);
    const { converted, recorded, repeated } = await recordInTransaction(tx, used, [], clock.nowMs(), inSpan);
    if (recorded.length < converted.length) {
      const counts = { usage: converted.length, recorded: recorded.length };
      logger.error(
        counts,
        "some usage entries were not recorded: the organization has no wallet, the batch has the entry twice, " +
          "or the entry is in the table refused_credit_entries",
      );
    }
    return { usage: found.replies, repeated };
  });
  const moved = countRecorded(usage);
  await settleInRedis(context, repeated);
  const deleted = await deleteUsage(redis, usage);
  for (const shard of deleted.unreachable) unreachable.add(shard);
  return { moved, unreachable };
}

type InSpan = <T>(members: readonly Traceparent[], record: () => Promise<T>) => Promise<T>;

/** What one transaction recorded. */
interface RecordedUsageEntries {
  readonly converted: readonly LedgerEntry[];
  readonly recorded: readonly RecordedEntry[];
  /** Settlements to apply in Redis again. */
  readonly repeated: readonly SettlementRequest[];
}

/**
 * Records usage before `others`: if both have the same entry, the entry of usage is kept, because
 * only that entry has the request id. The caller must have taken the shards' locks before it read
 * the usage. `inSpan` gets the spans of the traced usage.
 */
export async function recordInTransaction(
  tx: CreditTransaction,
  usage: readonly UsageEntry[],
  others: readonly LedgerEntry[],
  nowMs: number,
  inSpan: InSpan = (_members, record) => record(),
): Promise<RecordedUsageEntries> {
  const { entries, refundedByLedger } = await convertUsage(tx, usage);
  const recorded = await traceUsage(usage, (members) =>
    inSpan(members, () => tx.recordEntries(entries.concat(others), nowMs)),
  );
  // Wallets in Redis do not have new refunds that the ledger decided. So each refund becomes an
  // old pending change (`isOld`), which makes its shard sync again.
  const refunds = recorded.filter(
    ({ entry, isNew }) => isNew && entry.kind === "refund" && refundedByLedger.has(entry.chargeId),
  );
  await tx.insertPending(refunds.map((refund) => pendingChange("release", refund, true)));
  return { converted: entries, recorded, repeated: await repeatedSettlements(tx, entries, recorded) };
}

/** Counts committed usage; returns the number of entries. */
export function countRecorded(usage: ReadonlyMap<Shard, readonly UsageEntry[]>): number {
  const entries = [...usage.values()].reduce((total, ofShard) => total + ofShard.length, 0);
  usageRecorded.add(entries);
  return entries;
}

/**
 * Moves all entries in the streams of unsynced shards, which do not grow. Returns the shards that
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
