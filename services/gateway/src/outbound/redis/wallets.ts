import { createAvailableCredits } from "@kapi/admission";
import type { RedisConnection } from "@kapi/redis";
import type { Logger } from "@kapi/runtime";

import type { Wallets } from "../../domain/ports.ts";

/** Reads wallets in Redis. */
export function createWallets(redis: RedisConnection, logger: Logger): Wallets {
  return { available: createAvailableCredits(redis, logger) };
}
