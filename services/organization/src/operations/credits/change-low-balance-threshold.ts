import type { Wallet } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { setLowBalanceThreshold, shardOf } from "@kapi/admission/redis";

import { walletOrError } from "./get-credit-balance.ts";
import type { LedgerContext } from "./ledger-context.ts";

/**
 * Sets the low-balance threshold, in credits. Redis is set before the transaction commits: the
 * transaction holds the shard's lock in share mode, so no sync reads the wallet in between. If
 * Redis fails, the transaction is rolled back. Throws 404 without a wallet, and 500 while the shard
 * is unsynced.
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
