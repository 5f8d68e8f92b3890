import { uuidV7 } from "@kapi/kernel";

import type { AuditCaller } from "../../domain/audit.ts";
import type { Store } from "../../domain/ports.ts";
import type { LedgerContext } from "../credits/ledger-context.ts";
import { applyNow, recordPurchase } from "../credits/purchase-credits.ts";

/** An organization to create, with its first purchase. */
export interface CreateOrganization {
  readonly name: string;
  /** Credits of the first purchase. */
  readonly credits: number;
  readonly lowBalanceThreshold?: number | undefined;
}

/**
 * Creates an organization with its wallet, and returns the ids of both. The wallet is usable when
 * this resolves, unless Redis is unavailable or the wallet shard is unsynced.
 */
export async function createOrganization(
  context: Omit<LedgerContext, "store"> & { readonly store: Store },
  wanted: CreateOrganization,
  by: AuditCaller,
): Promise<{ organizationId: string; walletId: string }> {
  const nowMs = context.clock.nowMs();
  const organizationId = uuidV7(nowMs);
  const { change, walletId } = await context.store.transaction(async (tx) => {
    await tx.insertOrganization(organizationId, wanted.name, nowMs);
    const subject = { type: "organization", id: organizationId } as const;
    const details = { name: wanted.name };
    tx.recordAudit([{ ...by, organizationId, action: "organization.created", subject, details, atMs: nowMs }]);
    const change = await recordPurchase(tx, nowMs, {
      organizationId,
      purchaseId: uuidV7(nowMs),
      credits: wanted.credits,
      lowBalanceThreshold: wanted.lowBalanceThreshold ?? 0,
    });
    return { change, walletId: (await tx.readWallet(organizationId))?.id ?? "" };
  });
  if (change !== null) await applyNow(context, change);
  return { organizationId, walletId };
}
