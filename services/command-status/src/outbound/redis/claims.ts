import { forget, type RedisConnection } from "@kapi/redis";

import { ClaimsUnavailable } from "../../domain/errors.ts";
import type { ClaimKeeper } from "../../domain/ports.ts";

/** The claims in Redis. A call may be repeated; it throws {@link ClaimsUnavailable} where Redis is away. */
export function createClaimKeeper(redis: RedisConnection): ClaimKeeper {
  return {
    forget: (commands) => telling(() => forget(redis, commands)),
  };
}

async function telling(tell: () => Promise<void>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    throw new ClaimsUnavailable("the claims were not told", { cause: error });
  }
}
