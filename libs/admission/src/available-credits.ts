import { ApiError } from "@kapi/http";
import type { RedisConnection } from "@kapi/redis";
import type { Logger } from "@kapi/runtime";

import { ChargeUnknown } from "./admission.ts";
import { readWallet } from "./redis/index.ts";

/**
 * Returns the available credits of an organization, for the answer of a request that was rejected
 * with `error`; 0 without a wallet. Null if Redis does not answer, or the shard is unsynced: after
 * a failover its wallets may be outdated. Null without a call of Redis after two errors:
 * - After {@link ChargeUnknown}, another call of Redis would probably time out too.
 * - A revoked key gets the answer of an unknown key (decisions, 12).
 */
export type AvailableCredits = (organizationId: string, error: unknown) => Promise<number | null>;

/** Reads wallets in Redis, for answers of requests that were not admitted (decisions, 1.6). */
export function createAvailableCredits(redis: RedisConnection, logger: Logger): AvailableCredits {
  return async (organizationId, rejection) => {
    if (rejection instanceof ChargeUnknown) return null;
    if (rejection instanceof ApiError && rejection.code === "AUTHENTICATION_REQUIRED") return null;
    try {
      const reply = await readWallet(redis, organizationId);
      if (reply.kind === "unsynced") return null;
      return reply.kind === "wallet" ? reply.wallet.available : 0;
    } catch (error) {
      logger.debug({ err: error }, "cannot read the wallet for the headers of an error answer");
      return null;
    }
  };
}
