import { randomUUID } from "node:crypto";

import { createLogger } from "@kapi/runtime";
import { askRedis, createTestEnvironment, eventually, type TestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startRedis, type RedisConnection, type RedisOptions, startRedisClock } from "../src/index.ts";
import { exists, TEST_LIBRARY } from "./test-library.ts";

const logger = createLogger({ service: "redis-test", level: "silent" });

let environment: TestEnvironment;
let options: RedisOptions;
let redis: RedisConnection;
let stop: () => Promise<void>;
beforeAll(async () => {
  environment = await createTestEnvironment({ needs: ["redis"] });
  options = { url: environment.redisUrl, clientName: "redis-test", functionLibraries: [TEST_LIBRARY], logger };
  ({ value: redis, stop } = await startRedis(options));
});
afterAll(async () => {
  await stop();
  await environment.stop();
});

test("a library that Redis has lost is loaded again, and the call succeeds", async () => {
  const key = randomUUID();
  await redis.commands.set(key, "1");
  await askRedis(environment.redisUrl, "FUNCTION DELETE kapi_test");
  expect(await exists(redis, key)).toBe(true);
});

test("a Redis that may evict keys is rejected at the start", async () => {
  await askRedis(environment.redisUrl, "CONFIG SET maxmemory-policy allkeys-lru");
  try {
    await expect(startRedis(options)).rejects.toThrow("noeviction");
  } finally {
    await askRedis(environment.redisUrl, "CONFIG SET maxmemory-policy noeviction");
  }
});

test("the Redis clock follows the time of most masters, even a changed time, and advances while most masters do not answer", async () => {
  let apartMs = 0;
  let unanswered = 0;
  const [master] = redis.masters();
  const time = async (byMs: number): Promise<number[]> => {
    if (Number.isNaN(byMs)) {
      unanswered += 1;
      throw new Error("no Redis");
    }
    const [seconds, microseconds] = (await master?.time()) ?? [];
    return [Number(seconds) + byMs / 1_000, Number(microseconds)];
  };
  // One of three masters is always wrong.
  const masters = [{ time: () => time(-3_600_000) }, { time: () => time(apartMs) }, { time: () => time(apartMs) }];
  const shifted = { masters: () => masters } as unknown as Pick<RedisConnection, "masters">;
  const apart = (): number => Math.round((clock.nowMs() - Date.now()) / 1_000);
  const { value: clock, stop: stopClock } = await startRedisClock(shifted, { logger, intervalMs: 20 });
  expect(Math.abs(apart())).toBe(0);
  apartMs = 600_000;
  await eventually(() => expect(apart()).toBe(600));
  apartMs = Number.NaN;
  const lostAtMs = clock.nowMs();
  // In each measurement two masters do not answer, so 7 missing answers mean several measurements.
  await eventually(() => expect(unanswered).toBeGreaterThan(6));
  expect(clock.nowMs()).toBeGreaterThan(lostAtMs);
  expect(apart()).toBe(600);
  await stopClock();
  expect(apart()).toBe(600);
});
