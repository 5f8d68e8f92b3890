import type { RedisSettings } from "@kapi/runtime";

import type { RedisOptions } from "./connection.ts";

/** The address and encryption of Redis from a process's configuration. */
export function redisOptions(settings: RedisSettings): Pick<RedisOptions, "url" | "cluster" | "ca"> {
  const { REDIS_URL: url, REDIS_CLUSTER, REDIS_TLS_CA: ca } = settings;
  return { url, cluster: REDIS_CLUSTER === "on", ...(ca === undefined ? {} : { ca }) };
}
