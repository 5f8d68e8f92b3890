import { ApiError } from "@kapi/http";
import { revokeKey as refuseInRedis } from "@kapi/admission/redis";
import type { RedisConnection } from "@kapi/redis";

import type { AuditCaller } from "../../domain/audit.ts";
import type { ManagementKey } from "../../domain/directory/management-key.ts";
import type { DirectoryContext } from "./directory-context.ts";

/**
 * Revokes a key for good: in the directory, and in Redis, which rejects the key at once. Throws 404
 * for an unknown key, and for a key outside `organizationId` unless that is null. Safe to repeat.
 */
export async function revokeKey(
  context: DirectoryContext & { readonly redis: RedisConnection },
  keyId: string,
  organizationId: string | null,
  by: AuditCaller,
): Promise<ManagementKey> {
  const { store, redis, clock } = context;
  const nowMs = clock.nowMs();
  const revoked = await store.transaction(async (tx) => {
    const found = await tx.revokeKey(keyId, organizationId, nowMs);
    if (found === null) return null;
    const subject = { type: "key", id: keyId } as const;
    const record = { ...by, organizationId: found.key.organizationId, action: "key.revoked" as const, subject };
    if (found.isNew) tx.recordAudit([{ ...record, details: { name: found.key.name }, atMs: nowMs }]);
    return found.key;
  });
  if (!revoked) throw new ApiError("NOT_FOUND");
  await Promise.all([context.publish(), refuseInRedis(redis, revoked.organizationId, keyId)]);
  return revoked;
}
