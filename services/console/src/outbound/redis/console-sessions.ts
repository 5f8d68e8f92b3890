import { type RedisConnection, arrayReply, numberReply, textReply } from "@kapi/redis";

import type { ConsoleSessions, ListedSession } from "../../domain/ports.ts";
import { SESSION_LIFE } from "../../domain/session-life.ts";

/** Maximum number of open sessions of one user: the oldest ones end. */
export const MAX_SESSIONS_PER_USER = 100;
/** Maximum length of a kept `User-Agent`, in characters. */
const MAX_USER_AGENT_CHARACTERS = 300;

/** Hash: a session of the console. */
export const consoleSessionKey = (sessionHash: string): string => `console:session:${sessionHash}`;
/** Sorted set: the hashes of the sessions of a user, by the time of the sign-in. */
export const consoleSessionsOfKey = (userId: string): string => `console:sessions-of:${userId}`;

/**
 * Sessions in Redis. The connection needs the function library of the console. Only tests set
 * `life`.
 */
export function createConsoleSessions(redis: RedisConnection, life = SESSION_LIFE): ConsoleSessions {
  const { commands } = redis;
  const close = async (sessionHash: string): Promise<void> => {
    await commands.del(consoleSessionKey(sessionHash));
  };
  const list = async (userId: string): Promise<ListedSession[]> => {
    const key = consoleSessionsOfKey(userId);
    const hashes = await commands.zrange(key, "0", "-1");
    const found = await Promise.all(hashes.map((sessionHash) => readListed(redis, userId, sessionHash)));
    const ended = hashes.filter((_hash, index) => found[index] === null);
    if (ended.length > 0) await commands.zrem(key, ...ended);
    return found.filter((session) => session !== null);
  };
  /** Only open sessions count. Sessions of earlier versions have ended, and are removed. */
  const endOldest = async (userId: string, version: number): Promise<void> => {
    const listed = await list(userId);
    const former = listed.filter((session) => session.version < version);
    const open = listed.filter((session) => session.version >= version);
    for (const { sessionHash } of [...former, ...open.slice(0, -MAX_SESSIONS_PER_USER)]) {
      await close(sessionHash);
      await commands.zrem(consoleSessionsOfKey(userId), sessionHash);
    }
  };
  return {
    open: async (sessionHash, { userId, version, csrfToken, proof, address, userAgent }) => {
      const agent = (userAgent ?? "").slice(0, MAX_USER_AGENT_CHARACTERS);
      const args = [userId, version, csrfToken, life.idleMs, proof, address, agent];
      // The session is written before its entry in the list: `list` removes entries without a
      // session. If the process dies between both writes, no browser has the id of the session.
      await redis.call("kapi_console_open_session", [consoleSessionKey(sessionHash)], args);
      const key = consoleSessionsOfKey(userId);
      await commands.zadd(key, Date.now(), sessionHash);
      await commands.pexpire(key, life.absoluteMs);
      if ((await commands.zcard(key)) > MAX_SESSIONS_PER_USER) await endOldest(userId, version);
    },
    use: async (sessionHash) => {
      const keys = [consoleSessionKey(sessionHash)];
      const reply = await redis.call("kapi_console_use_session", keys, [life.idleMs, life.absoluteMs]);
      if (reply === null) return null;
      const [userId, version, csrfToken, created, proof] = arrayReply(reply);
      return {
        userId: textReply(userId) ?? "",
        version: numberReply(version),
        csrfToken: textReply(csrfToken) ?? "",
        createdAtMs: numberReply(created),
        proof: textReply(proof ?? null) === "provider" ? "provider" : "own",
      };
    },
    exist: (sessionHashes) =>
      Promise.all(
        sessionHashes.map((sessionHash) =>
          commands.exists(consoleSessionKey(sessionHash)).then(
            (count) => count === 1,
            () => true,
          ),
        ),
      ),
    close,
    list,
  };
}

async function readListed(redis: RedisConnection, userId: string, sessionHash: string): Promise<ListedSession | null> {
  const fields = ["user", "version", "created", "used", "address", "agent"] as const;
  const [user, version, created, used, address, agent] = await redis.commands.hmget(
    consoleSessionKey(sessionHash),
    ...fields,
  );
  if (user !== userId) return null;
  return {
    sessionHash,
    version: Number(version),
    createdAtMs: Number(created),
    lastUsedAtMs: Number(used ?? created),
    address: address === undefined || address === "" ? null : address,
    userAgent: agent === undefined || agent === "" ? null : agent,
  };
}
