import { readFileSync } from "node:fs";

import type { Logger, Started } from "@kapi/runtime";
import { Redis } from "ioredis";

/** The sources of the function libraries; loaded into every Redis that this process meets. */
const LIBRARIES = ["kapi.lua", "console.lua"].map((file) => readFileSync(new URL(file, import.meta.url), "utf8"));

/** Longest wait for one reply. Above it the outcome is unknown, and the call must be safe to repeat. */
const DEFAULT_COMMAND_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_STEP_MS = 50;
const MAX_RECONNECT_DELAY_MS = 1_000;

/** What {@link createRedis} needs. */
export interface RedisOptions {
  /** `redis://` or `rediss://`, with user and password where needed. */
  readonly url: string;
  /** Shown in `CLIENT LIST`. */
  readonly clientName: string;
  readonly logger: Logger;
  /** Longest wait for one reply, 2 s unless told. */
  readonly commandTimeoutMs?: number;
}

/** A connection whose commands are pipelined by themselves, and on which the function libraries are loaded. */
export interface RedisConnection {
  /** Calls a function of the libraries; loads them again where Redis has lost them. Rejects when Redis is away. */
  readonly call: (name: string, keys: readonly string[], args: readonly (string | number)[]) => Promise<unknown>;
  /** The client itself, for plain commands. */
  readonly commands: Redis;
  /** Whether the connection is usable now; for health checks. Null, or what is wrong. */
  readonly check: () => string | null;
}

/**
 * Connects and loads the function libraries. Nothing is ever sent twice behind the caller's back, and nothing waits in a
 * queue for a connection that is away (a debit whose reply was lost would run again); every call has a deadline.
 */
export async function createRedis(options: RedisOptions): Promise<Started<RedisConnection>> {
  const { logger } = options;
  const redis = new Redis(options.url, {
    connectionName: options.clientName,
    lazyConnect: true,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    commandTimeout: options.commandTimeoutMs ?? DEFAULT_COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(attempt * RECONNECT_STEP_MS, MAX_RECONNECT_DELAY_MS),
  });
  redis.on("error", (error: Error) => logger.warn({ err: error }, "redis connection"));
  try {
    await redis.connect();
    await assertNothingIsEvicted(redis);
    await loadLibraries(redis);
  } catch (error) {
    redis.disconnect();
    throw error;
  }
  const value: RedisConnection = {
    commands: redis,
    call: (name, keys, args) => callFunction(redis, name, keys, args),
    check: () => (redis.status === "ready" ? null : `redis connection is ${redis.status}`),
  };
  return { value, stop: () => close(redis) };
}

async function callFunction(
  redis: Redis,
  name: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.fcall(name, keys.length, ...keys, ...args);
  } catch (error) {
    if (!isMissingFunction(error)) throw error;
  }
  await loadLibraries(redis);
  return redis.fcall(name, keys.length, ...keys, ...args);
}

/** A Redis that may throw keys away when memory is short would throw wallets away. */
async function assertNothingIsEvicted(redis: Redis): Promise<void> {
  const policy = /maxmemory_policy:(\S+)/.exec(await redis.info("memory"))?.[1];
  if (policy === "noeviction") return;
  throw new Error(
    `Redis must run with maxmemory-policy noeviction, not ${policy ?? "an unknown one"}: it holds wallets`,
  );
}

async function loadLibraries(redis: Redis): Promise<void> {
  for (const library of LIBRARIES) await redis.function("LOAD", "REPLACE", library);
}

function isMissingFunction(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("ERR Function not found");
}

async function close(redis: Redis): Promise<void> {
  if (redis.status !== "ready") return redis.disconnect();
  await redis.quit();
}
