import { ApiError } from "@kapi/http";
import { uuidV7 } from "@kapi/kernel";

import type { LedgerEntry } from "../../domain/credits/ledger-entry.ts";
import type { PendingWalletChange, CreditTransaction } from "../../domain/credits/ports.ts";
import { applyChanges } from "./apply-pending.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { recordUnderLocks } from "./record-under-locks.ts";

/** Credits to add to an organization's wallet. */
export interface PurchaseCredits {
  readonly organizationId: string;
  readonly credits: number;
  /** Idempotency key: the same id adds its credits once. */
  readonly purchaseId: string;
  /** Low-balance threshold of a new wallet, in credits. */
  readonly lowBalanceThreshold?: number;
}

/**
 * Adds bought credits to an organization's wallet, and creates the wallet if needed. Returns
 * whether the purchase is new; a repeat adds nothing. Throws 404 for an unknown organization, and
 * 400 IDEMPOTENCY_KEY_REUSED if the id names another purchase.
 */
export async function purchaseCredits(context: LedgerContext, wanted: PurchaseCredits): Promise<boolean> {
  if (!(await context.store.organizationExists(wanted.organizationId))) throw new ApiError("NOT_FOUND");
  const change = await context.store.transaction((tx) => recordPurchase(tx, context.clock.nowMs(), wanted));
  if (change === null) return false;
  await applyNow(context, change);
  return true;
}

/**
 * Records a purchase and its pending change of the wallet; creates the wallet if needed. Returns
 * null if the ledger already has the purchase, and throws 400 if the id names another purchase. A
 * repeat is not applied to the wallet: Redis remembers purchases for 7 days only, and would then
 * add the credits again. A purchase that is not applied yet stays in `pending_wallet_changes`.
 */
export async function recordPurchase(
  tx: CreditTransaction,
  nowMs: number,
  wanted: PurchaseCredits,
): Promise<PendingWalletChange | null> {
  const { organizationId, purchaseId, credits, lowBalanceThreshold = 0 } = wanted;
  await tx.insertWallet({ organizationId, id: uuidV7(nowMs), lowBalanceThreshold, createdAtMs: nowMs });
  const entry: LedgerEntry = {
    chargeId: purchaseId,
    kind: "purchase",
    organizationId,
    credits,
    action: null,
    operation: "purchase",
    requestId: null,
    commandId: null,
    atMs: nowMs,
  };
  const [recorded] = await recordUnderLocks(tx, [entry], nowMs);
  if (recorded?.isNew !== true) {
    await rejectOther(tx, wanted);
    return null;
  }
  const change = { chargeId: purchaseId, organizationId, kind: "purchase", credits, epoch: recorded.epoch } as const;
  await tx.insertPending([change]);
  return change;
}

/** Applies a recorded change now. If Redis fails, the loop of `applyPending` applies it later. */
export async function applyNow(context: LedgerContext, change: PendingWalletChange): Promise<void> {
  try {
    await applyChanges(context, [change]);
  } catch (error) {
    context.logger.warn({ err: error, chargeId: change.chargeId }, "a purchase waits for Redis");
  }
}

/** Throws if the purchase id belongs to another purchase. */
async function rejectOther(tx: CreditTransaction, wanted: PurchaseCredits): Promise<void> {
  const known = await tx.readPurchase(wanted.purchaseId);
  if (known?.organizationId === wanted.organizationId && known.credits === wanted.credits) return;
  throw new ApiError("IDEMPOTENCY_KEY_REUSED", { text: "The purchase id was already used for another purchase" });
}
