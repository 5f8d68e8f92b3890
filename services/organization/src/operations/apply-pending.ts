import { type SettlementReply, purchase, settle } from "@kapi/redis";

import type { PendingWalletChange } from "../domain/ports.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { isApplied } from "./settle-in-redis.ts";

const MAX_CHANGES_PER_BATCH = 500;

/** Gives Redis the legs that it does not have yet; returns how many it took. What it cannot take stays. */
export async function applyPending(context: LedgerContext): Promise<number> {
  const changes = await context.store.readPending(MAX_CHANGES_PER_BATCH);
  return applyChanges(context, changes);
}

/** Gives Redis these legs, and removes those that it took. */
export async function applyChanges(context: LedgerContext, changes: readonly PendingWalletChange[]): Promise<number> {
  const applied: string[] = [];
  for (const change of changes) {
    if (change.kind === "purchase" && isApplied(await applyPurchase(context, change))) applied.push(change.chargeId);
  }
  const settlements = changes.flatMap(({ kind, ...change }) =>
    kind === "purchase" ? [] : [{ ...change, action: kind }],
  );
  const replies = await settle(context.redis, settlements);
  for (const [index, settlement] of settlements.entries()) {
    if (isApplied(replies[index])) applied.push(settlement.chargeId);
  }
  await context.store.deletePending(applied);
  return applied.length;
}

async function applyPurchase(
  { store, redis }: LedgerContext,
  change: PendingWalletChange,
): Promise<SettlementReply | undefined> {
  const wallet = await store.readWallet(change.organizationId);
  if (!wallet) return undefined;
  return purchase(redis, {
    organizationId: change.organizationId,
    purchaseId: change.chargeId,
    credits: change.credits,
    epoch: change.epoch,
    walletId: wallet.id,
    lowBalanceThreshold: wallet.lowBalanceThreshold,
    createdAtMs: wallet.createdAtMs,
  });
}
