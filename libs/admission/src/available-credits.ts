import type { RedisConnection } from "@kapi/redis";
import { unsyncedShards, shardOf, walletKey } from "./redis/index.ts";
import type { Logger } from "@kapi/runtime";

/**
 * Available credits of an organization: 0 without a wallet, null where they are not known: Redis
 * does not answer, or has lost its wallets.
 */
export type AvailableCredits = (organizationId: string) => Promise<number | null>;

/**
 * Looks at wallets in Redis, for answers that no admission gave a number to (decisions, 1.6).
 * Changes no wallet.
 */
export function createAvailableCredits(redis: RedisConnection, logger: Logger): AvailableCredits {
  return async (organizationId) => {
    try {
      const shard = shardOf(organizationId);
      const available = await redis.commands.hget(walletKey(shard, organizationId), "available");
      if (available !== null) return Number(available);
      // While the shard is unsynced, the wallet may be in the ledger alone.
      return (await unsyncedShards(redis, [shard])).length > 0 ? null : 0;
    } catch (error) {
      logger.debug({ err: error }, "no wallet to show with an error answer");
      return null;
    }
  };
}
