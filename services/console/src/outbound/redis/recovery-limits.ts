import { numberReply, type RedisConnection } from "@kapi/redis";

import type { RecoveryLimits } from "../../domain/people-ports.ts";

/** A count is forgotten this long after its first request. */
export const RECOVERY_WINDOW_MS = 15 * 60_000;
/** Maximum number of mails to one e-mail address within {@link RECOVERY_WINDOW_MS}. */
export const MAX_MAILS_PER_EMAIL = 3;
/**
 * Maximum number of requests from one network within {@link RECOVERY_WINDOW_MS}: a whole office may
 * share the network.
 */
export const MAX_RECOVERIES_PER_ADDRESS = 20;

/** Number: requests for mails to an e-mail address. */
export const recoveryEmailKey = (emailHash: string): string => `console:recovery:email:${emailHash}`;
/** Number: requests for mails from a network. */
export const recoveryAddressKey = (network: string): string => `console:recovery:address:${network}`;

/** Counts requests for mails in Redis. The connection needs the function library of the console. */
export function createRecoveryLimits(redis: RedisConnection): RecoveryLimits {
  const count = async (key: string): Promise<number> =>
    numberReply(await redis.call("kapi_console_count_recovery", [key], [RECOVERY_WINDOW_MS]));
  return {
    count: async (emailHash, network) => {
      const ofNetwork = await count(recoveryAddressKey(network));
      if (ofNetwork > MAX_RECOVERIES_PER_ADDRESS) {
        const leftMs = await redis.commands.pttl(recoveryAddressKey(network));
        return { waitMs: Math.max(1, leftMs), isSilent: true };
      }
      return { waitMs: 0, isSilent: (await count(recoveryEmailKey(emailHash))) > MAX_MAILS_PER_EMAIL };
    },
  };
}
