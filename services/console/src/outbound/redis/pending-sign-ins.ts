import type { RedisConnection } from "@kapi/redis";

import type { PendingSignIns } from "../../domain/ports.ts";

/** String: a sign-in that waits for another step. */
export const pendingSignInKey = (idHash: string): string => `console:pending:${idHash}`;

/** Sign-ins that wait for a second factor or for the provider of OpenID Connect, in Redis. */
export function createPendingSignIns({ commands }: RedisConnection): PendingSignIns {
  const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
  return {
    put: async (idHash, value, lifeMs) => {
      await commands.set(pendingSignInKey(idHash), JSON.stringify(value), "PX", lifeMs);
    },
    read: async (idHash) => parsed(await commands.get(pendingSignInKey(idHash))),
    take: async (idHash) => parsed(await commands.getdel(pendingSignInKey(idHash))),
  };
}
