import type { Wallet } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { setLowBalanceThreshold, shardOf } from "@kapi/admission/redis";

import { walletOrError } from "./get-credit-balance.ts";
import type { LedgerContext } from "./ledger-context.ts";

/**
 * Sets the threshold below which a wallet is low, in credits. Redis is told within the transaction,
 * whose share of the shard's lock keeps an opening from setting the wallet meanwhile: where Redis
 * cannot take it, nothing is changed, and once this has resolved both have it. Throws 404 for an
 * organization without a wallet.
 */
export function changeLowBalanceThreshold(
  { store, redis, clock }: LedgerContext,
  organizationId: string,
  credits: number,
): Promise<Wallet> {
  return store.transaction(async (tx) => {
    await tx.shareShardLocks([shardOf(organizationId)]);
    const isKnown = await tx.setLowBalanceThreshold(organizationId, credits, clock.nowMs());
    if (!isKnown) throw new ApiError("WALLET_NOT_FOUND");
    return walletOrError(await setLowBalanceThreshold(redis, organizationId, credits));
  });
}
