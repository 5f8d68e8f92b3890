import { type RedisConnection, tagOf, walletKey } from "@kapi/redis";
import type { Logger } from "@kapi/runtime";

/** Available credits of an organization: 0 without a wallet, null where Redis does not answer. */
export type AvailableCredits = (organizationId: string) => Promise<number | null>;

/** Looks at wallets in Redis, for answers that no admission gave a number to (decisions, 1.6). Changes nothing. */
export function createAvailableCredits(redis: RedisConnection, logger: Logger): AvailableCredits {
  return async (organizationId) => {
    try {
      const wallet = walletKey(tagOf(organizationId), organizationId);
      return Number((await redis.commands.hget(wallet, "available")) ?? 0);
    } catch (error) {
      logger.debug({ err: error }, "no wallet to show with an error answer");
      return null;
    }
  };
}
