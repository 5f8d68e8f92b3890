/** Redis, as a service connects to it. */
import { isUnreachable, type RedisConnection, redisOptions, startRedis } from "@kapi/redis";
import type { MainContext, RedisSettings, Started } from "@kapi/runtime";

import { connectWhenReachable } from "./reach.ts";

/** Options of {@link startServiceRedis}. */
export interface ServiceRedisOptions {
  /** Name of the service, shown by Redis for each of its connections. */
  readonly service: string;
  /**
   * Source text of the function library that the service calls. The library is loaded at the start,
   * and again if Redis has lost it.
   */
  readonly library: string;
  /** Deadline of a command, in milliseconds. Default: the deadline of `@kapi/redis`. */
  readonly commandTimeoutMs?: number;
  /** Whether the process is ready while no Redis node answers. Default false. */
  readonly isReadyWithout?: boolean;
}

/**
 * Starts the connections to Redis. Waits a limited time for a Redis that does not answer.
 * @throws if Redis cannot be used.
 */
export async function startServiceRedis(
  { config, scope, logger, health }: Pick<MainContext<RedisSettings>, "config" | "scope" | "logger" | "health">,
  { service, library, commandTimeoutMs, isReadyWithout = false }: ServiceRedisOptions,
): Promise<RedisConnection> {
  const connect = (): Promise<Started<RedisConnection>> =>
    startRedis({
      ...redisOptions(config),
      clientName: service,
      ...(commandTimeoutMs === undefined ? {} : { commandTimeoutMs }),
      functionLibraries: [library],
      logger,
    });
  const redis = await scope.start("redis", () => connectWhenReachable("redis", connect, isUnreachable, logger));
  if (!isReadyWithout) health.readiness("redis", () => redis.check());
  return redis;
}
