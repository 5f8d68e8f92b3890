import type { Started } from "@kapi/runtime";
import { Command, type Redis } from "ioredis";

import { startClusterConnection } from "./cluster.ts";
import type { RedisConnection, RedisOptions } from "./connection.ts";
import {
  assertNothingIsEvicted,
  connect,
  createClient,
  isClusterNode,
  isMissingFunction,
  keepPinging,
  loadLibraries,
  reconnectDelay,
  unusable,
} from "./node.ts";

export type { RedisConnection, RedisOptions } from "./connection.ts";

/**
 * Connects and loads the function libraries. The client never resends a call that may have run: a
 * debit whose reply was lost would run again. It queues no call while it is disconnected. Every
 * call has a deadline.
 * @throws Error with the reason if this Redis cannot be used, and with its address if no
 * connection is possible or if `cluster` is wrong for this Redis.
 */
export function startRedis(options: RedisOptions): Promise<Started<RedisConnection>> {
  return options.cluster === true ? startClusterConnection(options) : startNodeConnection(options);
}

async function startNodeConnection(options: RedisOptions): Promise<Started<RedisConnection>> {
  const url = typeof options.url === "string" ? options.url : (options.url[0] ?? "");
  const redis = createClient(url, options, reconnectDelay);
  redis.on("error", (error: Error) => options.logger.warn({ err: error }, "the connection to Redis has an error"));
  try {
    await connect(redis, url);
    if (await isClusterNode(redis)) throw unusable(url, "it is a node of a cluster: set REDIS_CLUSTER=on");
    await assertNothingIsEvicted(redis);
    await loadLibraries(redis, options);
  } catch (error) {
    redis.disconnect();
    throw error;
  }
  const send = sharingWrites(redis);
  const value: RedisConnection = {
    commands: redis,
    masters: () => [redis],
    call: (name, keys, args) => callFunction(() => loadLibraries(redis, options), send, name, keys, args),
    check: () => (redis.status === "ready" ? null : `redis connection is ${redis.status}`),
  };
  const pings = keepPinging(() => [redis]);
  const stop = (): Promise<void> => {
    pings.stop();
    return close(redis);
  };
  return { value, stop };
}

/**
 * Sends the calls of one turn of the event loop in one write. The automatic pipelining of ioredis
 * is not used for these calls: with it a call costs 1.5 times as much, and only one pipeline is in
 * flight.
 */
function sharingWrites(redis: Redis): (call: (string | number)[]) => Promise<unknown> {
  let held: Redis["stream"] | null = null;
  const write = (): void => {
    held?.uncork();
    held = null;
  };
  return (call) => {
    if (held === null && redis.status === "ready") {
      held = redis.stream;
      held.cork();
      setImmediate(write);
    }
    return Promise.resolve(redis.sendCommand(new Command("fcall", call, { replyEncoding: "utf8" })));
  };
}

async function callFunction(
  load: () => Promise<void>,
  send: (call: (string | number)[]) => Promise<unknown>,
  name: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  const call = [name, keys.length, ...keys, ...args];
  try {
    return await send(call);
  } catch (error) {
    if (!isMissingFunction(error)) throw error;
  }
  await load();
  return send(call);
}

async function close(redis: Redis): Promise<void> {
  if (redis.status !== "ready") return redis.disconnect();
  // A server that does not answer must not block the stop.
  await redis.quit().catch(() => redis.disconnect());
}
