import type { RedisConnection } from "@kapi/redis";
import { readWallet } from "./redis/index.ts";
import type { Logger } from "@kapi/runtime";

/**
 * Returns the available credits of an organization; 0 without a wallet. Null if Redis does not
 * answer, or the shard is unsynced: after a failover its wallets may be outdated.
 */
export type AvailableCredits = (organizationId: string) => Promise<number | null>;

/** Reads wallets in Redis, for answers of requests that were not admitted (decisions, 1.6). */
export function createAvailableCredits(redis: RedisConnection, logger: Logger): AvailableCredits {
  return async (organizationId) => {
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
