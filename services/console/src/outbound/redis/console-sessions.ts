import { type RedisConnection, arrayReply, numberReply, textReply } from "@kapi/redis";

import type { ConsoleSessions } from "../../domain/ports.ts";
import { SESSION_LIFE } from "../../domain/session-life.ts";

/** Hash: a session of the console. */
export const consoleSessionKey = (sessionHash: string): string => `console:session:${sessionHash}`;

/**
 * Sessions in Redis. The connection needs the function library of the console. Only tests set
 * `life`.
 */
export function createConsoleSessions(redis: RedisConnection, life = SESSION_LIFE): ConsoleSessions {
  return {
    open: async (sessionHash, { userId, version, csrfToken }) => {
      const args = [userId, version, csrfToken, life.idleMs];
      await redis.call("kapi_console_open_session", [consoleSessionKey(sessionHash)], args);
    },
    use: async (sessionHash) => {
      const keys = [consoleSessionKey(sessionHash)];
      const reply = await redis.call("kapi_console_use_session", keys, [life.idleMs, life.absoluteMs]);
      if (reply === null) return null;
      const [userId, version, csrfToken, created] = arrayReply(reply);
      return {
        userId: textReply(userId) ?? "",
        version: numberReply(version),
        csrfToken: textReply(csrfToken) ?? "",
        createdAtMs: numberReply(created),
      };
    },
    exist: (sessionHashes) =>
      Promise.all(
        sessionHashes.map((sessionHash) =>
          redis.commands.exists(consoleSessionKey(sessionHash)).then(
            (count) => count === 1,
            () => true,
          ),
        ),
      ),
    close: async (sessionHash) => {
      await redis.commands.del(consoleSessionKey(sessionHash));
    },
  };
}
