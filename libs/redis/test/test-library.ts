import type { RedisConnection } from "../src/index.ts";

/** A function library of the tests' own. */
export const TEST_LIBRARY = `#!lua name=kapi_test
redis.register_function('kapi_test_exists', function(keys) return redis.call('EXISTS', keys[1]) end)`;

/** Keys that lie on all masters of a cluster. */
export const KEYS: readonly string[] = Array.from({ length: 64 }, (_, index) => `test:${index}`);

/** Calls the function of {@link TEST_LIBRARY}: whether the key exists. */
export async function exists(redis: RedisConnection, key: string): Promise<boolean> {
  return (await redis.call("kapi_test_exists", [key], [])) === 1;
}

/** Which of `keys` a call fails for. */
export async function unreachableOf(redis: RedisConnection, keys: readonly string[]): Promise<string[]> {
  const replies = await Promise.allSettled(keys.map((key) => exists(redis, key)));
  return keys.filter((_, index) => replies[index]?.status === "rejected");
}
