import { walletToWire } from "@kapi/admission";
import type { Wallet } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { readWallet, type WalletReply } from "@kapi/admission/redis";

import type { LedgerContext } from "./ledger-context.ts";

/** Retry-After while a shard is unsynced, in seconds. */
const UNSYNCED_RETRY_AFTER_S = 1;

/** The wallet for getCreditBalance, read without a charge. Throws as {@link walletOrError}. */
export async function getCreditBalance(
  { redis }: Pick<LedgerContext, "redis">,
  organizationId: string,
): Promise<Wallet> {
  return walletOrError(await readWallet(redis, organizationId));
}

/**
 * The wallet of a reply of Redis. Throws 404 without a wallet, and 500 with Retry-After while the
 * shard is unsynced.
 */
export function walletOrError(reply: WalletReply): Wallet {
  switch (reply.kind) {
    case "wallet":
      return walletToWire(reply.wallet);
    case "no_wallet":
      throw new ApiError("WALLET_NOT_FOUND");
    case "unsynced":
      throw new ApiError("DEPENDENCY_UNAVAILABLE", { headers: { "retry-after": String(UNSYNCED_RETRY_AFTER_S) } });
  }
}
