import {
  SETTLED_TTL_MS,
  type SettlementReply,
  type Shard,
  markUnsynced,
  purchase,
  settle,
  shardOf,
} from "@kapi/admission/redis";

import type { PendingWalletChange } from "../../domain/credits/ports.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { isApplied } from "./settle-in-redis.ts";

const MAX_CHANGES_PER_BATCH = 500;
/**
 * Changes older than this are not applied again: Redis may have applied them already, and forgets
 * applied settlements after {@link SETTLED_TTL_MS}. Half of that time is a margin for changes that
 * were recorded late.
 */
const REPEATED_WITHIN_MS = SETTLED_TTL_MS / 2;

/**
 * Applies pending changes in Redis; returns how many Redis accepted. The other changes stay
 * pending. After a shard was found unsynced or unreachable, its changes are skipped: changes of
 * other shards do not wait for them.
 */
export async function applyPending(context: LedgerContext): Promise<number> {
  const skipped = new Set<Shard>();
  let accepted = 0;
  for (;;) {
    const changes = await context.store.readPending(MAX_CHANGES_PER_BATCH, [...skipped], REPEATED_WITHIN_MS);
    const { applied, waiting } = await applyChanges(context, changes);
    accepted += applied;
    const known = skipped.size;
    for (const shard of waiting) skipped.add(shard);
    if (changes.length < MAX_CHANGES_PER_BATCH || skipped.size === known) return accepted;
  }
}

/** What became of pending changes: how many Redis accepted, and which shards must wait. */
export interface AppliedChanges {
  readonly applied: number;
  /** Unsynced or unreachable shards. */
  readonly waiting: ReadonlySet<Shard>;
}

/**
 * Applies these changes in Redis and removes the changes that Redis accepted. If a change is old
 * (`isOld`), its shard becomes unsynced instead: the next sync sets the wallets from the ledger. A
 * shard that was synced after its old changes stays ready, because its wallets have these changes.
 */
export async function applyChanges(
  context: LedgerContext,
  changes: readonly PendingWalletChange[],
): Promise<AppliedChanges> {
  const applied: string[] = [];
  const waiting = await unsyncShardsWithOldChanges(context, changes);
  const collect = ({ chargeId, organizationId }: Change, reply: SettlementReply | undefined): void => {
    if (isApplied(reply)) applied.push(chargeId);
    if (reply === "unsynced" || reply === "unreachable") waiting.add(shardOf(organizationId));
  };
  for (const change of changes) {
    if (change.kind !== "purchase" || waiting.has(shardOf(change.organizationId))) continue;
    collect(change, await applyPurchase(context, change));
  }
  const settlements = changes.flatMap(({ kind, ...change }) =>
    kind === "purchase" || waiting.has(shardOf(change.organizationId)) ? [] : [{ ...change, action: kind }],
  );
  const replies = await settle(context.redis, settlements, (error) => warnWaiting(context, error));
  for (const [index, settlement] of settlements.entries()) collect(settlement, replies[index]);
  await context.store.deletePending(applied);
  return { applied: applied.length, waiting };
}

/**
 * Marks shards with old changes as unsynced, unless they were synced after these changes. Returns
 * the shards that are now unsynced or could not be reached.
 */
async function unsyncShardsWithOldChanges(
  context: LedgerContext,
  changes: readonly PendingWalletChange[],
): Promise<Set<Shard>> {
  const waiting = new Set<Shard>();
  const old = Map.groupBy(
    changes.filter(({ isOld }) => isOld),
    ({ organizationId }) => shardOf(organizationId),
  );
  for (const [shard, ofShard] of old) {
    try {
      const marked = await markUnsynced(context.redis, shard, Math.max(...ofShard.map(({ epoch }) => epoch)));
      if (marked === "synced_since") continue;
      // No warning for `already`: each later round marks the shard again until it is synced.
      if (marked === "unsynced") {
        context.logger.warn(
          { shard, changes: ofShard.length },
          "a shard becomes unsynced: only a sync can apply these changes safely",
        );
      }
    } catch (error) {
      warnWaiting(context, error);
    }
    waiting.add(shard);
  }
  return waiting;
}

type Change = Pick<PendingWalletChange, "chargeId" | "organizationId">;

async function applyPurchase(
  context: LedgerContext,
  change: PendingWalletChange,
): Promise<SettlementReply | undefined> {
  const { store, redis } = context;
  const wallet = await store.readWallet(change.organizationId);
  if (!wallet) return undefined;
  try {
    return await purchase(redis, {
      organizationId: change.organizationId,
      purchaseId: change.chargeId,
      credits: change.credits,
      epoch: change.epoch,
      walletId: wallet.id,
      lowBalanceThreshold: wallet.lowBalanceThreshold,
      createdAtMs: wallet.createdAtMs,
    });
  } catch (error) {
    warnWaiting(context, error);
    return "unreachable";
  }
}

function warnWaiting({ logger }: LedgerContext, error: unknown): void {
  logger.warn({ err: error }, "wallet changes wait for Redis");
}
