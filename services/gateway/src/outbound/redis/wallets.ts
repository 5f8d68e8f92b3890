import { type RedisConnection, tagOf, walletKey } from "@kapi/redis";
import type { Logger } from "@kapi/runtime";

import type { Wallets } from "../../domain/ports.ts";

/** Wallets in Redis, only looked at. */
export function createWallets(redis: RedisConnection, logger: Logger): Wallets {
  return {
    available: async (organizationId) => {
      try {
        const wallet = walletKey(tagOf(organizationId), organizationId);
        return Number((await redis.commands.hget(wallet, "available")) ?? 0);
      } catch (error) {
        logger.debug({ err: error }, "no wallet to show with an error answer");
        return 0;
      }
    },
  };
}
