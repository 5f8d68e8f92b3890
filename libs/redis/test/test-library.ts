import type { RedisConnection } from "../src/index.ts";

/** A library of Redis functions that only these tests use. */
export const TEST_LIBRARY = `#!lua name=kapi_test
redis.register_function('kapi_test_exists', function(keys) return redis.call('EXISTS', keys[1]) end)`;

/** Keys that are spread over all masters of a cluster: each master has some. */
export const KEYS: readonly string[] = Array.from({ length: 64 }, (_, index) => `test:${index}`);

/** Calls the function of {@link TEST_LIBRARY}: whether the key exists. */
export async function exists(redis: RedisConnection, key: string): Promise<boolean> {
  return (await redis.call("kapi_test_exists", [key], [])) === 1;
}

/** The keys for which a call fails. */
export async function unreachableOf(redis: RedisConnection, keys: readonly string[]): Promise<string[]> {
  const replies = await Promise.allSettled(keys.map((key) => exists(redis, key)));
  return keys.filter((_, index) => replies[index]?.status === "rejected");
}
