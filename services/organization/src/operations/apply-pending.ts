import { type SettlementReply, type Tag, purchase, settle, tagOf } from "@kapi/redis";

import type { PendingWalletChange } from "../domain/ports.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { isApplied } from "./settle-in-redis.ts";

const MAX_CHANGES_PER_BATCH = 500;

/**
 * Gives Redis the legs that it does not have yet; returns how many it took. What it cannot take stays, and the changes of a tag that
 * is closed or unreachable hide none of another.
 */
export async function applyPending(context: LedgerContext): Promise<number> {
  const skipped = new Set<Tag>();
  let taken = 0;
  for (;;) {
    const changes = await context.store.readPending(MAX_CHANGES_PER_BATCH, [...skipped]);
    const { applied, waiting } = await applyChanges(context, changes);
    taken += applied;
    const known = skipped.size;
    for (const tag of waiting) skipped.add(tag);
    if (changes.length < MAX_CHANGES_PER_BATCH || skipped.size === known) return taken;
  }
}

/** What became of changes. */
export interface AppliedChanges {
  readonly applied: number;
  /** Tags that cannot take theirs now: closed, or unreachable. */
  readonly waiting: ReadonlySet<Tag>;
}

/** Gives Redis these legs, and removes those that it took. */
export async function applyChanges(
  context: LedgerContext,
  changes: readonly PendingWalletChange[],
): Promise<AppliedChanges> {
  const applied: string[] = [];
  const waiting = new Set<Tag>();
  const take = ({ chargeId, organizationId }: Change, reply: SettlementReply | undefined): void => {
    if (isApplied(reply)) applied.push(chargeId);
    if (reply === "closed" || reply === "unreachable") waiting.add(tagOf(organizationId));
  };
  for (const change of changes) {
    if (change.kind !== "purchase" || waiting.has(tagOf(change.organizationId))) continue;
    take(change, await applyPurchase(context, change));
  }
  const settlements = changes.flatMap(({ kind, ...change }) =>
    kind === "purchase" || waiting.has(tagOf(change.organizationId)) ? [] : [{ ...change, action: kind }],
  );
  const replies = await settle(context.redis, settlements, (error) => warnWaiting(context, error));
  for (const [index, settlement] of settlements.entries()) take(settlement, replies[index]);
  await context.store.deletePending(applied);
  return { applied: applied.length, waiting };
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
  logger.warn({ err: error }, "changes of wallets wait for Redis");
}
