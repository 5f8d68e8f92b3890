import type { RedisSettings } from "@kapi/runtime";

import type { RedisOptions } from "./connection.ts";

/**
 * What {@link RedisOptions} a process's configuration gives: where Redis is, and how it is reached.
 */
export function redisOptions(settings: RedisSettings): Pick<RedisOptions, "url" | "cluster" | "ca"> {
  const { REDIS_URL: url, REDIS_CLUSTER, REDIS_TLS_CA: ca } = settings;
  return { url, cluster: REDIS_CLUSTER === "on", ...(ca === undefined ? {} : { ca }) };
}
