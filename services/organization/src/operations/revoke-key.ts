import { ApiError } from "@kapi/http";
import { revokeKey as refuseInRedis } from "@kapi/redis";

import type { OperatorContext } from "./operator-context.ts";

/**
 * Revokes a key for good: in the directory, for every gateway and live socket, and in Redis, which refuses it at once. Throws
 * 404 for an unknown key. Safe to repeat, as after a failure of Redis.
 */
export async function revokeKey(context: OperatorContext, keyId: string): Promise<void> {
  const revoked = await context.store.transaction((tx) => tx.revokeKey(keyId));
  if (!revoked) throw new ApiError("NOT_FOUND");
  await Promise.all([context.publish(), refuseInRedis(context.redis, revoked.organizationId, keyId)]);
}
