import { walletToWire } from "@kapi/admission";
import type { Wallet } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { readWallet, type WalletReply } from "@kapi/admission/redis";

import type { LedgerContext } from "./ledger-context.ts";

/** What Retry-After says while wallets are being set from the ledger, in seconds. */
const UNSYNCED_RETRY_AFTER_S = 1;

/**
 * The wallet as getCreditBalance shows it, without a charge. Throws 404 for an organization without
 * one.
 */
export async function getCreditBalance(
  { redis }: Pick<LedgerContext, "redis">,
  organizationId: string,
): Promise<Wallet> {
  return walletOrError(await readWallet(redis, organizationId));
}

/**
 * The wallet of a reply; 404 where there is none, 500 with Retry-After where it cannot be told now.
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
