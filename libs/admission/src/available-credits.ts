import { type RedisConnection, tagOf, walletKey } from "@kapi/redis";
import type { Logger } from "@kapi/runtime";

/** What an organization has available, in credits; 0 where there is no wallet, or where it cannot be known now. */
export type AvailableCredits = (organizationId: string) => Promise<number>;

/** Looks at wallets in Redis, for answers that no admission gave a number to (decisions, 1.6). Changes nothing. */
export function createAvailableCredits(redis: RedisConnection, logger: Logger): AvailableCredits {
  return async (organizationId) => {
    try {
      const wallet = walletKey(tagOf(organizationId), organizationId);
      return Number((await redis.commands.hget(wallet, "available")) ?? 0);
    } catch (error) {
      logger.debug({ err: error }, "no wallet to show with an error answer");
      return 0;
    }
  };
}
