import type { RedisConnection } from "@kapi/redis";
import { unsyncedShards, shardOf, walletKey } from "./redis/index.ts";
import type { Logger } from "@kapi/runtime";

/**
 * Returns the available credits of an organization, as its wallet in Redis has them, even if its
 * shard is unsynced. Without a wallet: 0, or null if the shard is unsynced. Null if Redis does not
 * answer.
 */
export type AvailableCredits = (organizationId: string) => Promise<number | null>;

/** Reads wallets in Redis, for answers of requests that were not admitted (decisions, 1.6). */
export function createAvailableCredits(redis: RedisConnection, logger: Logger): AvailableCredits {
  return async (organizationId) => {
    try {
      const shard = shardOf(organizationId);
      const available = await redis.commands.hget(walletKey(shard, organizationId), "available");
      if (available !== null) return Number(available);
      // While the shard is unsynced, perhaps only the ledger has the wallet.
      return (await unsyncedShards(redis, [shard])).length > 0 ? null : 0;
    } catch (error) {
      logger.debug({ err: error }, "cannot read the wallet for the headers of an error answer");
      return null;
    }
  };
}
