import type { ConsoleKey, KeyEntry } from "@kapi/contracts";

/** A management key without its secret. */
export interface ManagementKey extends Omit<KeyEntry, "kind" | "version" | "secretHash"> {
  readonly name: string;
  readonly createdAt: string;
  readonly revokedAt: string | null;
}

/** The key as the console shows it. Expiry writes nothing: the status follows from the time. */
export function consoleKeyOf(key: ManagementKey, nowMs: number): ConsoleKey {
  const hasExpired = key.expiresAt !== null && Date.parse(key.expiresAt) <= nowMs;
  return {
    keyId: key.keyId,
    name: key.name,
    scopes: [...key.scopes],
    serverIds: key.serverIds,
    status: key.status === "active" && hasExpired ? "expired" : key.status,
    createdAt: key.createdAt,
    expiresAt: key.expiresAt,
    revokedAt: key.revokedAt,
    rateLimit: key.rateLimit,
    allowedNetworks: key.allowedNetworks ?? null,
  };
}
